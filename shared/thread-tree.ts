/** Threads as a tree: a child stands below the thread that spawned it, a branch below the one that it came from. */
import type { Thread } from "./api.ts";

/** By whatever names; the thread and its parent's thread by the same. */
interface InTree extends Pick<Thread, "createdAt"> {
  threadId: string;
  parentId?: string | null | undefined;
}

export interface Placed<T> {
  thread: T;
  /** How many threads it stands below, as lists show it: {@link MAX_DEPTH} at most. */
  depth: number;
}

/** Deeper ones stand where these do: a phone is narrow. */
export const MAX_DEPTH = 3;

/**
 * Each thread before those below it, the oldest of them first. A thread whose parent is not among them stands at the
 * top, in the order in which it came. So does one of a circle of parents, which only a broken answer could hold.
 * @param isShown those for which it says no are left out, unless one that is shown stands below
 */
export function threadTree<T extends InTree>(
  threads: readonly T[],
  isShown: (thread: T) => boolean = () => true,
): Placed<T>[] {
  const parents = findParents(threads);
  const shown = new Set<T>();
  for (const thread of threads.filter(isShown)) {
    for (let at: T | undefined = thread; at && !shown.has(at); at = parents.get(at)) shown.add(at);
  }
  const children = new Map<T | undefined, T[]>();
  for (const thread of threads.filter((one) => shown.has(one))) {
    const parent = parents.get(thread);
    const siblings = children.get(parent);
    if (siblings) siblings.push(thread);
    else children.set(parent, [thread]);
  }
  const tree: Placed<T>[] = [];
  const next = (children.get(undefined) ?? []).map((thread) => ({ thread, depth: 0 })).reverse();
  for (let at = next.pop(); at; at = next.pop()) {
    tree.push(at);
    const depth = Math.min(at.depth + 1, MAX_DEPTH);
    const below = [...(children.get(at.thread) ?? [])].sort(byAge);
    next.push(...below.reverse().map((thread) => ({ thread, depth })));
  }
  return tree;
}

function findParents<T extends InTree>(threads: readonly T[]): Map<T, T> {
  const byId = new Map<string, T>(threads.map((thread) => [thread.threadId, thread]));
  const parents = new Map<T, T>();
  for (const thread of threads) {
    const parent = thread.parentId && byId.get(thread.parentId);
    if (parent) parents.set(thread, parent);
  }
  const rooted = new Set<T>();
  for (const thread of threads) {
    const path = new Set<T>();
    for (let at: T | undefined = thread; at && !rooted.has(at); at = parents.get(at)) {
      if (path.has(at)) parents.delete(at); // a circle is cut here
      path.add(at);
    }
    for (const one of path) rooted.add(one);
  }
  return parents;
}

function byAge(a: Pick<Thread, "createdAt">, b: Pick<Thread, "createdAt">): number {
  return Date.parse(a.createdAt) - Date.parse(b.createdAt);
}
