/** Starts the engine's next process: on the old conversation if it is there, on a new one if not. */
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { forkOf, type ThreadConfig } from "../shared/agent/config.ts";
import type { EventBody } from "../shared/agent/events.ts";
import type { ThreadFold } from "../shared/agent/fold-types.ts";
import {
  BOARD_FOLDER,
  BYPASS_ALLOWED,
  ENGINE_FOLDER_MARKER,
  ENGINE_MARKER,
  LOCK_FOLDER,
  PLACES_FOLDER,
  PLACES_MAX,
  PLACES_READY,
  RUNNER_MARKER,
  SANDBOX,
  SPEND_CAP,
  SPEND_FOLDER,
  STATE_FOLDER,
  THREAD_TITLE,
  TRUST_FOLDER,
} from "../shared/agent/markers.ts";
import { THREAD_FILES } from "../shared/agent/paths.ts";
import { parseSandbox } from "../shared/sandbox/modes.ts";
import { anewNotice, NO_CONVERSATION } from "./anew.ts";
import type { Conversation, Engine, Env, Launch, Needs } from "./engine.ts";
import type { ProcessPlan } from "./process/engine-process.ts";
import { type Command, inSandbox } from "./process/sandbox.ts";

/** What only the runner needs. */
const RUNNERS_OWN = [
  BYPASS_ALLOWED,
  STATE_FOLDER,
  SANDBOX,
  RUNNER_MARKER,
  LOCK_FOLDER,
  PLACES_FOLDER,
  PLACES_MAX,
  PLACES_READY,
  TRUST_FOLDER,
  SPEND_FOLDER,
  SPEND_CAP,
  BOARD_FOLDER,
  THREAD_TITLE,
];

/** The engine's environment: the runner's, with the engine's marker in place of its own. */
export function engineEnv(env: Env, threadId: string, folder: string): Env {
  const rest = { ...env };
  for (const own of RUNNERS_OWN) delete rest[own];
  return { ...rest, [ENGINE_MARKER]: threadId, [ENGINE_FOLDER_MARKER]: folder };
}

/** The conversation that the next process goes on with, if there was one. */
export function lastSessionId(
  fold: ThreadFold,
  last: Launch | undefined,
  config: ThreadConfig,
): string | undefined {
  return last?.sessionId ?? fold.engine?.sessionId ?? config.sessionId;
}

/** No message of this thread has been done. */
export function isFresh({ deliveryIds, deliveries }: ThreadFold): boolean {
  return deliveryIds.every((id) => deliveries.some(({ deliveryId }) => deliveryId === id));
}

/** So often a branch's first process may die in its work before the branch begins from the transcript. */
const MAX_FORKS = 2;

/** Finds where a thread that is to begin leaves another conversation; undefined if it begins in no such way. */
export function forkPoint(
  fold: ThreadFold,
  config: ThreadConfig,
): { sessionId: string; at: string } | undefined {
  const { sessionId, at } = forkOf(config);
  if (!isFresh(fold) || fold.cutOffs.count >= MAX_FORKS) return undefined;
  return sessionId !== undefined && at !== undefined ? { sessionId, at } : undefined;
}

/**
 * How the next process begins, and what its look at the conversation says about deliveries: what is in it is not
 * sent again, what is not goes again under the same id. Pure but for the new conversation's id.
 * @param branch of a thread that goes on from another conversation: the thread that it was, if it was one, and the look
 * at the conversation that is to be forked
 * @param left why the conversation is left, though it may still be there; and how long the transcript is
 */
export function planGeneration(
  fold: ThreadFold,
  generation: number,
  sessionId: string | undefined,
  found: Conversation,
  now: Date,
  branch?: { threadId: string | undefined; fork: Conversation | undefined },
  { anew, beganBytes }: Pick<Launch, "anew" | "beganBytes"> = {},
): { launch: Launch; events: EventBody[] } {
  const { exists, delivered, costUsd } = anew ? NO_CONVERSATION : found;
  const events = fold.deliveries.flatMap(({ deliveryId, status }): EventBody[] => {
    const isIn = delivered.has(deliveryId);
    if (isIn === (status === "started")) return [];
    return [{ type: "delivery_update", deliveryId, status: isIn ? "started" : "queued" }];
  });
  const hasHistory = !isFresh(fold);
  const isForked = !exists && !hasHistory && branch?.fork?.exists === true;
  const isToldFirst = branch !== undefined || fold.hasInitialMessages === true;
  const reseeded = !exists && !isForked && (hasHistory || isToldFirst);
  const baseUsd = isForked ? branch?.fork?.costUsd : costUsd;
  const launch: Launch = {
    generation,
    // What is left of a conversation that is gone may still hold its id.
    sessionId: exists && sessionId !== undefined ? sessionId : randomUUID(),
    resumed: exists,
    reseeded,
    takesUp: exists && (fold.cutOffs.at !== null || delivered.size > 0),
    taken: [...delivered],
    ...(anew && { anew }),
    ...(beganBytes !== undefined && { beganBytes }),
    ...(baseUsd !== undefined && { costUsd: baseUsd }),
    startedAt: now.toISOString(),
    seq: fold.seq,
  };
  if (anew) events.push(...anewNotice(anew));
  else if (reseeded && hasHistory) {
    const description = "The engine's own record of it is gone; it is told the transcript.";
    events.push({ type: "notice", severity: "warning", title: "The conversation begins anew", description });
  } else if (reseeded && branch && fold.cutOffs.count === 0) {
    const title = "The conversation goes on from a transcript";
    const where = branch.threadId === undefined ? "before this thread" : `in ${branch.threadId}`;
    const description = `The engine is told what was said ${where}.`;
    events.push({ type: "notice", severity: "info", title, description });
  }
  return { launch, events };
}

export type Keep = (command: Command, files?: readonly string[], needs?: Needs) => Command;

export function planProcess(
  engine: Engine,
  request: { config: ThreadConfig; launch: Launch; fold: ThreadFold; env: Env; folder: string },
  keep: Keep,
): ProcessPlan {
  const { config, folder } = request;
  const { files = {}, reads = [], needs, ...plan } = engine.plan(request);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 });
  const read = [THREAD_FILES.mcp, ...Object.keys(files), ...reads];
  return keep(
    { ...plan, cwd: config.dir },
    read.map((name) => join(folder, name)),
    needs,
  );
}

/** How commands of a thread are started: in the sandbox, if there is one. */
export function keeperOf({ launch: { stateDir } }: ThreadConfig, runnerEnv: Env, folder: string): Keep {
  const sandbox = parseSandbox(runnerEnv[SANDBOX]);
  if (sandbox === undefined || stateDir === undefined) return (command) => command;
  return (command, files = [], needs) => inSandbox(command, { sandbox, stateDir, folder, files, needs });
}
