/** The files of two commits together, among git's objects alone. */
import { AppError } from "../errors.ts";
import { splitList, textOf } from "./paths.ts";
import { type GitPlace, runGit } from "./run-git.ts";

const MAX_NAMED = 20;

/**
 * @param words `where` goes behind what conflicts, `instead` says what a person can do
 * @returns the tree
 * @throws AppError `merge_conflict`
 */
export async function mergeTrees(
  place: GitPlace,
  ours: string,
  theirs: string,
  { where, instead }: { where: string; instead: string },
): Promise<string> {
  const args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs];
  // It ends with 1 if there are conflicts, and lists them behind the tree.
  const [tree = "", ...conflicts] = splitList(await runGit(place, args, { alsoCode: 1 }));
  const names = [...new Set(conflicts.filter((name) => name !== "").map(textOf))];
  if (names.length === 0) return tree;
  const what = names.length === 1 ? "One file conflicts" : `${names.length} files conflict`;
  throw new AppError(
    "merge_conflict",
    `${what}${where}, and nothing was merged: ${listNames(names, names.length)}. ${instead}.`,
  );
}

/** The first of some names, and how many more there are. */
export function listNames(names: readonly string[], count: number): string {
  const shown = names.slice(0, MAX_NAMED);
  const more = count > shown.length ? ` and ${count - shown.length} more` : "";
  return `${shown.map((name) => JSON.stringify(name)).join(", ")}${more}`;
}
