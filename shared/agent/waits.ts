/** Whom a turn waits for. Pure. Meanwhile others may have the thread's place. */
import { isParked } from "./fold-asks.ts";
import { asksOfWork } from "./fold-held.ts";
import type { ThreadFold } from "./fold-types.ts";

export type Wait = "person" | "child" | "lock";

/** A file is mostly free again at once: a place that is given back for that would be gone for a whole turn. */
const LOCK_PATIENCE_MS = 2_000;
/** Of the coordination tools: it returns when another thread has ended. */
const WAITING_TOOL = /__wait_thread$/;

/**
 * Undefined if the turn can go on by itself.
 * @param nowMs since the epoch
 */
export function waitOf(fold: ThreadFold, nowMs: number): Wait | undefined {
  if (asksOfWork(fold).some((ask) => !isParked(fold, ask))) return "person";
  const awaited = fold.children.flatMap(({ mode, toolCallId }) => (mode === "await" ? [toolCallId] : []));
  const isChild = fold.toolCalls.some(
    ({ toolCallId, name }) => awaited.includes(toolCallId) || WAITING_TOOL.test(name),
  );
  if (isChild) return "child";
  const lock = fold.steps.find(({ kind }) => kind === "lock");
  if (lock && nowMs - Date.parse(lock.startedAt) > LOCK_PATIENCE_MS) return "lock";
  return undefined;
}

/** The thread waits until it is its turn among all threads: only so many may have a turn at once. */
export function isQueued({ steps }: Pick<ThreadFold, "steps">): boolean {
  return steps.some(({ kind }) => kind === "place");
}
