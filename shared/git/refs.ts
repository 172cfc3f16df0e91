/** The refs that keep states: `refs/threadmux/<thread>/<turn>/before`, `/after` and `/end`. No other ref is touched. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { runGit } from "./run-git.ts";
import type { WorkTree } from "./work-tree.ts";

/** What a turn or an undo changed, and the files then. */
export interface KeptTurn {
  before: string;
  /** With what it changed itself, and nothing else. */
  after: string;
  /** All files as they were at its end; states of older versions have none. */
  end?: string | undefined;
}

const SIDES = ["before", "after", "end"] as const;

/** How many turns of a thread are kept; older ones are forgotten. */
export const MAX_KEPT_TURNS = 50;

export async function keepTurn(
  tree: WorkTree,
  threadId: string,
  turnId: string,
  kept: KeptTurn,
): Promise<void> {
  const name = refName(threadId, turnId);
  const lines = SIDES.map((side) => {
    const object = kept[side];
    return object === undefined ? `delete ${name}/${side}\0\0` : `update ${name}/${side}\0${object}\0\0`;
  });
  await updateRefs(tree, lines);
}

/** What a turn changed; undefined if it is not kept, or not any more. */
export async function findTurn(
  tree: WorkTree,
  threadId: string,
  turnId: string,
): Promise<KeptTurn | undefined> {
  const name = refName(threadId, turnId);
  const args = ["for-each-ref", "--format=%(objectname) %(refname)", `${name}/`];
  const found = new Map<string, string>();
  for (const line of (await runGit(tree.place, args)).toString().split("\n")) {
    const [object = "", ref = ""] = line.split(" ");
    found.set(ref.slice(name.length + 1), object);
  }
  const [before, after, end] = SIDES.map((side) => found.get(side));
  return before && after ? { before, after, ...(end && { end }) } : undefined;
}

export async function forgetTurns(
  tree: WorkTree,
  threadId: string,
  turnIds: readonly string[],
): Promise<void> {
  const names = turnIds.flatMap((turnId) => SIDES.map((side) => `${refName(threadId, turnId)}/${side}`));
  await updateRefs(
    tree,
    names.map((name) => `delete ${name}\0\0`),
  );
}

/** Keeps the newest turns of a thread. */
export async function forgetOldTurns(tree: WorkTree, threadId: string): Promise<void> {
  const prefix = `refs/threadmux/${part(threadId)}/`;
  const args = ["for-each-ref", "--format=%(refname)", prefix];
  const refs = (await runGit(tree.place, args)).toString().split("\n").filter(Boolean);
  const turns = [...new Set(refs.map((ref) => ref.slice(prefix.length).split("/")[0] ?? ""))];
  if (turns.length <= MAX_KEPT_TURNS) return;
  const age = (turnId: string) => keptAt(tree, `${prefix}${turnId}/after`);
  const oldest = turns.sort((a, b) => age(a) - age(b)).slice(0, turns.length - MAX_KEPT_TURNS);
  await forgetTurns(tree, threadId, oldest);
}

/** When a ref was written; packed refs are older than all others. */
function keptAt({ repository }: WorkTree, ref: string): number {
  return statSync(join(repository.commonDir, ref), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Forgets all that is kept of a thread. */
export async function forgetThread(tree: WorkTree, threadId: string): Promise<void> {
  const args = ["for-each-ref", "--format=%(refname)", `refs/threadmux/${part(threadId)}/`];
  const names = (await runGit(tree.place, args)).toString().split("\n").filter(Boolean);
  await updateRefs(
    tree,
    names.map((name) => `delete ${name}\0\0`),
  );
}

/** All of them or none. A ref that points to another ref is replaced itself, whoever made it. */
async function updateRefs(tree: WorkTree, lines: readonly string[]): Promise<void> {
  if (lines.length === 0) return;
  const input = `start\0${lines.map((line) => `option no-deref\0${line}`).join("")}commit\0`;
  await runGit(tree.place, ["update-ref", "-z", "--stdin"], { input });
}

function refName(threadId: string, turnId: string): string {
  return `refs/threadmux/${part(threadId)}/${part(turnId)}`;
}

function part(id: string): string {
  if (!/^[\w-]{1,64}$/.test(id)) throw new Error(`${JSON.stringify(id)} can't be part of a ref's name`);
  return id;
}
