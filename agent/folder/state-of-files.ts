/** Hashes the state of files, so that a later hash tells whether one of them was changed. */
import { createHash } from "node:crypto";
import { readRegular, UnfitFile } from "../../shared/regular-file.ts";

/** Largest size of a file whose content is hashed, in bytes; a larger one counts by its size and modification time. */
const MAX_READ = 4 * 1024 * 1024;
const MAX_FILES = 50;

/** @returns 32 hex digits; empty if there are no paths. A file that can't be read counts by its error code. */
export function stateOfFiles(paths: readonly string[]): string {
  if (paths.length === 0) return "";
  const hash = createHash("sha256").update(String(paths.length));
  for (const path of paths.slice(0, MAX_FILES)) hash.update(`\n${path}\n`).update(stateOf(path));
  return hash.digest("hex").slice(0, 32);
}

function stateOf(path: string): Buffer | string {
  try {
    return readRegular(path, MAX_READ);
  } catch (error) {
    if (error instanceof UnfitFile) {
      const { stats } = error;
      return stats.isFile() ? `${stats.size} ${stats.mtimeMs}` : "no file";
    }
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    return code; // the file is missing or may not be read, for the call as well
  }
}
