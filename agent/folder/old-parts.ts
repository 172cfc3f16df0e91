/** What runners that were killed in their writing have left in a folder that all threads share. */
import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

/** Nobody writes so long. */
const MAX_AGE_MS = 10 * 60_000;

/** Removes files that never got their names. */
export function removeOldParts(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (!name.endsWith(".part")) continue;
    const path = join(folder, name);
    const found = statSync(path, { throwIfNoEntry: false });
    if (found && Date.now() - found.mtimeMs > MAX_AGE_MS) rmSync(path, { force: true });
  }
}
