/** Small JSON files that are replaced as a whole, so that a reader never sees half of one. */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";

/** @param isDurable on the disk when this returns, not only visible */
export function replaceJson(path: string, value: unknown, isDurable = false): void {
  const fresh = `${path}.new`;
  const fd = openSync(fresh, "w", 0o600);
  try {
    writeSync(fd, `${JSON.stringify(value)}\n`);
    if (isDurable) fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(fresh, path);
}

/** Undefined if the file is missing or no JSON. */
export function findJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
