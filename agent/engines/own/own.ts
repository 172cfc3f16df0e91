/**
 * Engine 3: our own loop (agent.ts). It is a program of its own (main.ts) behind the port like every other: so it
 * survives the runner, runs in the thread's sandbox with its commands, and a runner never waits for a model. The runner
 * writes the transcript of what the program prints; the program begins with what the transcript holds.
 */
import { mkdirSync } from "node:fs";
import { ENGINE_FOLDER_MARKER } from "../../../shared/agent/markers.ts";
import { THREAD_FILES, threadPath } from "../../../shared/agent/paths.ts";
import { readProviderFiles } from "../../../shared/agent/provider-files.ts";
import type { Engine, LaunchPlan, LaunchRequest, Needs } from "../../engine.ts";
import { broughtBy, findInstructions, instructionText } from "./instructions.ts";
import type { Start } from "./protocol.ts";
import { lookAtTranscript } from "./read-history.ts";
import { OwnSession } from "./session.ts";
import { ripgrepFolder } from "./tools/ripgrep.ts";

export const START_FILE = "own.json";

export function ownEngine(name: string): Engine {
  return {
    name,
    check: async () => undefined, // it comes with threadmux; a model that can't be called is told in the turn
    lookAround: async ({ dir }) => broughtBy(dir, findInstructions(dir)),
    look: async (sessionId, { deliveryIds }, env) => {
      const folder = env[ENGINE_FOLDER_MARKER];
      if (folder === undefined) return { exists: false, delivered: new Set() };
      return lookAtTranscript(folder, sessionId, deliveryIds);
    },
    plan: (request) => {
      // A folder that is made after the process has started is not seen in its sandbox.
      mkdirSync(threadPath(request.folder, "pictures"), { recursive: true, mode: 0o700 });
      return planOf(request);
    },
    begin: (request) => new OwnSession(request),
  };
}

function planOf(request: LaunchRequest): LaunchPlan {
  return {
    program: request.config.launch.program,
    args: request.config.launch.args,
    env: request.env,
    files: { [START_FILE]: JSON.stringify(startOf(request)) },
    reads: [THREAD_FILES.transcript, THREAD_FILES.blobs, THREAD_FILES.pictures],
    needs: needsOf(),
  };
}

/** It searches with a program that comes with threadmux, which may lie in the person's home. */
function needsOf(): Needs {
  const ripgrep = ripgrepFolder();
  return { reads: ripgrep === undefined ? [] : [ripgrep], writes: [], copies: [] };
}

function startOf({ config, launch, fold }: LaunchRequest): Start {
  const { generation, number, sessionId, resumed, reseeded = false, takesUp } = launch;
  const model = fold.chosen.model ?? config.agent.model;
  // Without a person's trust only the person's own settings count.
  const isTrusted = config.launch.settingSources === undefined;
  return {
    config,
    generation,
    ...(number !== undefined && { number }),
    sessionId,
    resumed,
    reseeded,
    takesUp,
    modeId: fold.chosen.modeId ?? config.agent.permissionMode ?? "default",
    ...(model !== undefined && { model }),
    rules: fold.grantedRules,
    providers: readProviderFiles(config.launch.stateDir),
    instructions: isTrusted ? instructionText(findInstructions(config.dir)) : "",
  };
}
