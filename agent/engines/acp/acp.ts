/** Engine 3: any agent that speaks the Agent Client Protocol, behind our own program (main.ts). */
import { join } from "node:path";
import { asksOfWork } from "../../../shared/agent/fold-held.ts";
import { ENGINE_FOLDER_MARKER } from "../../../shared/agent/markers.ts";
import { resumePrompt } from "../../core/resume-prompt.ts";
import type { Conversation, Engine, Env, LaunchRequest, Needs } from "../../engine.ts";
import { findMissing, needsOfProgram } from "../named-program.ts";
import { findKnown } from "./known.ts";
import { lookAround } from "./look-around.ts";
import type { Spec } from "./protocol.ts";
import { findRunning, findTaken } from "./record.ts";
import { AcpSession } from "./session.ts";
import { findAgentSession } from "./session-file.ts";

const SPEC_FILE = "acp.json";
const UNTRUSTED =
  "It would obey what the directory brings, and a person does not trust that: it is not started there.";
/** An agent is told of so many calls that were cut off, the newest. */
const MAX_RUNNING = 20;

/** @param adapter main.cjs of this folder */
export function acpEngine(name: string, adapter: string): Engine {
  return {
    name,
    check: async ({ launch: { program } }, env) => findMissing(program, env),
    lookAround: ({ dir, launch }, env) => lookAround(dir, launch.program, env),
    look: async (sessionId, { deliveryIds }, env) => lookAt(sessionId, deliveryIds, env),
    plan: (request) => ({
      program: process.execPath,
      args: [adapter, join(request.folder, SPEC_FILE)],
      env: request.env,
      files: { [SPEC_FILE]: JSON.stringify(specOf(request)) },
      needs: needsOf(request),
    }),
    begin: (request) => new AcpSession(request),
  };
}

/** Which deliveries the agent holds, only its replay can tell: until then those count that it may have been told. */
function lookAt(sessionId: string, deliveryIds: readonly string[], env: Env): Conversation {
  const folder = env[ENGINE_FOLDER_MARKER];
  const known = folder === undefined ? undefined : findAgentSession(folder, sessionId);
  if (folder === undefined || !known?.canResume) return { exists: false, delivered: new Set() };
  return { exists: true, delivered: findTaken(folder, deliveryIds) };
}

function specOf({ config, launch, fold, folder }: LaunchRequest): Spec {
  const { agent, launch: how } = config;
  const chosen = fold.chosen.modeId ?? agent.permissionMode;
  const session = launch.resumed ? findAgentSession(folder, launch.sessionId) : undefined;
  return {
    program: how.program,
    args: how.args,
    dir: config.dir,
    ...(session && { sessionId: session.sessionId }),
    ...(chosen !== undefined && { mode: { id: chosen, isChosen: true } }),
    ...(how.mcpConfigFile !== undefined && { mcpConfigFile: how.mcpConfigFile }),
    allowedTools: how.allowedTools,
    ...(how.settingSources !== undefined && { refusal: UNTRUSTED }),
    taken: launch.taken,
    ...(agent.params.callSeconds !== undefined && { silentSeconds: agent.params.callSeconds }),
    ...(launch.takesUp && { goOn: goOnText({ config, launch, fold, folder }) }),
  };
}

function goOnText({ launch, fold, folder }: Omit<LaunchRequest, "env">): string {
  const waiting = [...asksOfWork(fold), ...fold.recordedAnswers];
  const running = findRunning(folder, launch.generation).slice(-MAX_RUNNING);
  const unknown = running.map((title) => `\n- ${title}`).join("");
  const told = `[threadmux] ${resumePrompt(waiting, fold)}`;
  if (unknown === "") return told;
  return `${told}\nThese calls were running, and their outcome is unknown; check whether they took effect before you run them again:${unknown}`;
}

/** In a home of the thread's own, the agent keeps its conversations there. */
function needsOf({ config, env }: LaunchRequest): Needs {
  const { launch } = config;
  const home = env["HOME"] ?? "/";
  const files = findKnown(launch.program)?.files ?? [];
  return { ...needsOfProgram(config, env), copies: files.map((file) => join(home, file)) };
}
