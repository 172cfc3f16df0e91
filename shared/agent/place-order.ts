/** Who gets the next free place. Pure. */
import { createHash } from "node:crypto";
import { isHuman, parsePrincipal, type Source } from "../principal.ts";
import type { ThreadFold } from "./fold-types.ts";
import { isQueued } from "./waits.ts";

/** How many of those before it are counted exactly; further back each change would cost Discord a request. */
export const MAX_COUNTED = 10;

export interface Waiter<Id extends string = string> {
  id: Id;
  /** The person that the thread works for. */
  person: string;
  /** It had a place and gave it back while it waited for somebody: it comes before all that have had none. */
  isBack: boolean;
  sinceMs: number;
}

/**
 * The waiters in the order in which they get places: first those that come back, then one of each person in turn, so
 * that whoever began many threads keeps nobody else waiting.
 * @param busy the person of each place that is taken
 * @param servedMs when a thread of each person got a place last
 */
export function orderOf<Id extends string>(
  waiters: readonly Waiter<Id>[],
  busy: readonly string[],
  servedMs: ReadonlyMap<string, number> = new Map(),
): Waiter<Id>[] {
  const served = ({ person }: Pick<Waiter, "person">) => servedMs.get(person) ?? 0;
  const byAge = [...waiters].sort((a, b) => a.sinceMs - b.sinceMs || (a.id < b.id ? -1 : 1));
  const taken = new Map<string, number>();
  const take = (person: string) => taken.set(person, (taken.get(person) ?? 0) + 1);
  for (const person of busy) take(person);
  const order = byAge.filter(({ isBack }) => isBack);
  for (const { person } of order) take(person);
  const rest = byAge.filter(({ isBack }) => !isBack).sort((a, b) => served(a) - served(b));
  while (rest.length > 0) {
    const fewest = Math.min(...rest.map(({ person }) => taken.get(person) ?? 0));
    const at = rest.findIndex(({ person }) => (taken.get(person) ?? 0) === fewest);
    const [next] = rest.splice(at, 1);
    if (!next) break;
    take(next.person);
    order.push(next);
  }
  return order;
}

/** It has had a place for this turn, and comes back for it. */
export function comesBack({ turn, cutOffs, deliveries }: ThreadFold): boolean {
  return turn !== null || cutOffs.at !== null || deliveries.some(({ status }) => status === "started");
}

/** It waits for its first place of a turn and does nothing else: no process is needed meanwhile. */
export function maySleep(fold: ThreadFold): boolean {
  return isQueued(fold) && fold.engine?.isUp !== true && !fold.pending.undo && !comesBack(fold);
}

/** Begins the name of a claim of a thread that waits without a process; {@link placeId} follows, between dots. */
export const SLEEP_CLAIM = "sleep.";

/** How the names of claims name a thread. */
export function placeId(threadId: string): string {
  return createHash("sha256").update(threadId).digest("hex").slice(0, 16);
}

/** The person who wrote what waits longest; a thread's own messages are its parent's. */
export function personOf({ deliveries, messages }: ThreadFold, createdBy: Source): Source {
  const waiting = [...deliveries.flatMap((delivery) => delivery.messages), ...messages];
  const source = waiting.find((message) => isHuman(parsePrincipal(message.source)))?.source;
  return source ?? createdBy;
}

/** What people are told of a thread that waits for a place. */
export function waitTitle(before: number): string {
  const count = before <= MAX_COUNTED ? String(before) : `over ${Math.floor((before - 1) / 10) * 10}`;
  return `Waiting for a free place${before === 0 ? "" : ` (${count} before you)`}`;
}
