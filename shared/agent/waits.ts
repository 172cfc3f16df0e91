/** Whom a turn waits for. Pure. Meanwhile others may have the thread's place. */
import { isParked } from "./fold-asks.ts";
import { asksOfWork } from "./fold-held.ts";
import type { GateEntry, ThreadFold } from "./fold-types.ts";

export type Wait = "person" | "child" | "lock";

/** A file is mostly free again at once: a place that is given back for that would be gone for a whole turn. */
const LOCK_PATIENCE_MS = 2_000;
/** The coordination tool that returns when another thread has ended. */
const WAITING_TOOL = /__wait_thread$/;

/**
 * Undefined if the turn can go on by itself.
 * @param nowMs since the epoch
 */
export function waitOf(fold: ThreadFold, nowMs: number): Wait | undefined {
  if (asksOfWork(fold).some((ask) => !isParked(fold, ask))) return "person";
  if (awaitedOf(fold) !== undefined) return "child";
  const lock = fold.steps.find(({ kind }) => kind === "lock");
  if (lock && nowMs - Date.parse(lock.startedAt) > LOCK_PATIENCE_MS) return "lock";
  return undefined;
}

type Waiting = Pick<ThreadFold, "children" | "toolCalls" | "gates">;

const isUnderReview = ({ by, outcome }: GateEntry) => by === "directive" && outcome === undefined;

/** @returns the titles of the children that its calls wait for; empty if they can't be told apart */
function awaitedOf({ children, toolCalls, gates }: Waiting): string[] | undefined {
  const reviews = (gates?.entries ?? []).filter(isUnderReview);
  if (reviews.length > 0) return reviews.map(({ title }) => `a review of ${title}`);
  const calls = new Set(toolCalls.map(({ toolCallId }) => toolCallId));
  const spawned = children.filter(
    ({ mode, toolCallId }) => mode === "await" && toolCallId !== undefined && calls.has(toolCallId),
  );
  if (spawned.length > 0) return spawned.map(({ title }) => title);
  return toolCalls.some(({ name }) => WAITING_TOOL.test(name)) ? [] : undefined;
}

/** Whether no call of it does anything but wait for a child, or for a directive's decision on it. */
export function onlyAwaits({ children, toolCalls, gates }: Waiting): boolean {
  const reviews = (gates?.entries ?? []).filter(isUnderReview);
  const reviewed = new Set(reviews.map(({ waits }) => waits));
  // What waits between calls or at the turn's end is no call: nothing else runs then.
  if (reviews.some(({ at }) => at !== "before_step")) return true;
  const awaits = ({ toolCallId, name }: ThreadFold["toolCalls"][number]) =>
    WAITING_TOOL.test(name) ||
    reviewed.has(toolCallId) ||
    children.some((child) => child.mode === "await" && child.toolCallId === toolCallId);
  return toolCalls.length > 0 && toolCalls.every(awaits);
}

/** A sentence for people; undefined if it waits for no child. */
export function childWait(fold: Waiting): string | undefined {
  const titles = awaitedOf(fold);
  if (titles === undefined) return undefined;
  const [title = "a child"] = titles;
  return `Waiting for ${titles.length > 1 ? `${titles.length} children` : title}`;
}

/** Its worktree is made, or set up by the person's command. */
export function isSettingUp({ steps }: Pick<ThreadFold, "steps">): boolean {
  return steps.some(({ kind }) => kind === "setup");
}

/** The thread waits until it is its turn among all threads: only so many may have a turn at once. */
export function isQueued({ steps }: Pick<ThreadFold, "steps">): boolean {
  return steps.some(({ kind }) => kind === "place");
}
