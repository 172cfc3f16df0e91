/** Whether somebody is in the middle of something in a repository that moves its files about. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Repository } from "./repository.ts";

const OPERATIONS: Record<string, string> = {
  "rebase-merge": "a rebase",
  "rebase-apply": "a rebase",
  MERGE_HEAD: "a merge",
  CHERRY_PICK_HEAD: "a cherry-pick",
  REVERT_HEAD: "a revert",
  "index.lock": "another git command",
};

/** Undefined if nothing is going on. */
export async function findOperation({ gitDir }: Repository): Promise<string | undefined> {
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    if (await stat(join(gitDir, name)).catch(() => undefined)) return operation;
  }
  return undefined;
}
