/** Names what files hold now, so that it can be told later whether they were changed. */
import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";

/** Of a larger file its size and time stand for what it holds. */
const MAX_READ = 4 * 1024 * 1024;
const MAX_FILES = 50;

/** @returns empty for no file; one name whatever a file can't be read for */
export function stateOfFiles(paths: readonly string[]): string {
  if (paths.length === 0) return "";
  const hash = createHash("sha256").update(String(paths.length));
  for (const path of paths.slice(0, MAX_FILES)) hash.update(`\n${path}\n`).update(stateOf(path));
  return hash.digest("hex").slice(0, 32);
}

function stateOf(path: string): Buffer | string {
  try {
    const { size, mtimeMs, isFile } = lookAt(path);
    if (!isFile) return "no file";
    return size > MAX_READ ? `${size} ${mtimeMs}` : readFileSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    return code; // it is not there, or may not be read: the call will meet the same
  }
}

function lookAt(path: string) {
  const stat = statSync(path);
  return { size: stat.size, mtimeMs: stat.mtimeMs, isFile: stat.isFile() };
}
