/** Reading a repository that anybody may have made, through a git directory of our own. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WorkTree } from "../../shared/git/work-tree.ts";

/** @throws GitError also if the directory is in no git work tree */
export async function inWorkTree<T>(
  path: string,
  env: Record<string, string>,
  work: (tree: WorkTree) => Promise<T>,
): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), "threadmux-git-"));
  try {
    return await work(await WorkTree.open(path, join(dir, "own"), env));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
