/** Requests that come close together, as one: which of them belong together, and when they are passed on. Pure. */
import type { HookCoalesce } from "../../shared/hooks/settings.ts";
import { findAt, type Json } from "./body.ts";

/** Requests that wait for more of their kind. */
export interface Group {
  key: string;
  ids: readonly string[];
  firstAt: number;
  lastAt: number;
}

export interface Arrival {
  id: string;
  key: string;
  at: number;
}

/** By what requests belong together: what the key's path names, as JSON; all that have nothing there are of one. */
export function groupKeyOf({ key }: HookCoalesce, json: Json): string {
  const found = key === undefined || !json ? undefined : findAt(json.value, key)?.value;
  const isPlain = typeof found !== "object" || found === null;
  return isPlain && found !== undefined ? JSON.stringify(found).slice(0, 1_000) : "";
}

/** Puts arrivals together, the oldest first: those of one key are one group. */
export function gather(arrivals: readonly Arrival[]): Group[] {
  const groups = new Map<string, { key: string; ids: string[]; firstAt: number; lastAt: number }>();
  for (const { id, key, at } of arrivals) {
    const group = groups.get(key);
    if (!group) {
      groups.set(key, { key, ids: [id], firstAt: at, lastAt: at });
      continue;
    }
    group.ids.push(id);
    group.lastAt = Math.max(group.lastAt, at);
  }
  return [...groups.values()];
}

/** When a group is passed on. */
export function dueAtOf({ firstAt, lastAt }: Group, { windowSeconds, maxWaitSeconds }: HookCoalesce): number {
  return Math.min(lastAt + windowSeconds * 1000, firstAt + maxWaitSeconds * 1000);
}

/** Those that are passed on now, and those that go on waiting. */
export function takeDue(
  groups: readonly Group[],
  settings: HookCoalesce,
  now: number,
): { due: readonly Group[]; waiting: readonly Group[] } {
  // A clock that was set back would let them wait until it is as late again.
  const isDue = (group: Group) => group.firstAt > now || dueAtOf(group, settings) <= now;
  return { due: groups.filter(isDue), waiting: groups.filter((group) => !isDue(group)) };
}
