/** An undo writes files, so it takes their locks as calls do. It waits for none: what an agent writes now stays. */
import type { ThreadConfig } from "../../shared/agent/config.ts";
import { LOCK_FOLDER } from "../../shared/agent/markers.ts";
import { textOf } from "../../shared/git/paths.ts";
import type { Change, LeftOut } from "../../shared/git/work-tree.ts";
import type { Env } from "../engine.ts";
import { thisProcess } from "../locks/alive.ts";
import { type Claim, LockFolder } from "../locks/lock-folder.ts";
import { lockPathOf } from "../locks/lock-path.ts";

/**
 * Takes what can be had, and gives it back when `act` is done.
 * @param act is given the changes whose files are free, and those whose files are not
 */
export async function withLocks<T>(
  changes: readonly Change[],
  { undoId, root, config, env }: { undoId: string; root: string; config: ThreadConfig; env: Env },
  act: (free: Change[], left: LeftOut[]) => Promise<T>,
): Promise<T> {
  const { [LOCK_FOLDER]: folder } = env;
  if (!folder) return act([...changes], []);
  const locks = new LockFolder(folder);
  const { threadId, number } = config;
  const owner = { threadId, callId: undoId, ...(number !== undefined && { number }) };
  const place = { v: 1 as const, sinceMs: Date.now(), holder: thisProcess() };
  const claims = changes.map(
    ({ path }): Claim => ({ ...place, ...owner, path: lockPathOf(textOf(path), root, env["HOME"] ?? "/") }),
  );
  try {
    const taken = locks.takeAll(claims);
    const free: Change[] = [];
    const left: LeftOut[] = [];
    for (const [i, change] of changes.entries()) {
      const before = taken.get(claims[i]?.path ?? "");
      if (!before) free.push(change);
      else left.push({ path: textOf(change.path), reason: `${nameOf(before)} is writing it` });
    }
    return await act(free, left);
  } finally {
    locks.releaseAll(owner);
  }
}

function nameOf({ threadId, number }: Claim): string {
  return number === undefined ? `thread ${threadId}` : `#${number}`;
}
