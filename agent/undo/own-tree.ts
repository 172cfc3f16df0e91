/** Opens the work tree that a thread works in. */
import type { ThreadConfig } from "../../shared/agent/config.ts";
import { RUNNER_MARKER } from "../../shared/agent/markers.ts";
import { WorkTree } from "../../shared/git/work-tree.ts";
import type { Env } from "../engine.ts";
import { ownDir } from "./notes.ts";

/**
 * The work tree of a thread, through its own git directory. Whoever ends the runner ends its git too: one that went
 * on would write the index that the next runner's git writes.
 * @throws GitError
 */
export function openTree({
  folder,
  config,
  env,
}: {
  folder: string;
  config: ThreadConfig;
  env: Env;
}): Promise<WorkTree> {
  const marker = env[RUNNER_MARKER];
  return WorkTree.open(
    config.dir,
    ownDir(folder),
    env,
    marker === undefined ? {} : { [RUNNER_MARKER]: marker },
  );
}
