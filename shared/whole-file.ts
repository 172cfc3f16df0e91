/** Files that are replaced as a whole: a reader, and a start after a crash, finds all of one or the one before it. */
import { renameSync, rmSync, writeFileSync } from "node:fs";

export interface WholeFileOptions {
  /** On the disk when this returns, not only visible. */
  isDurable?: boolean;
  /** The name until it is whole. Writers of the same file in several processes need names of their own. */
  part?: string;
}

/**
 * For the owner's eyes alone.
 * @throws Error if the disk does not take it; the file is as before then.
 */
export function writeWhole(path: string, data: string | Uint8Array, options: WholeFileOptions = {}): void {
  const { isDurable = false, part = `${path}.part` } = options;
  try {
    writeFileSync(part, data, { mode: 0o600, flush: isDurable });
    renameSync(part, path);
  } catch (error) {
    rmSync(part, { force: true }); // what a full disk took of it would only keep it full
    throw error;
  }
}
