/** A small file that a person or a script of theirs put into a folder of ours. */
import { closeSync, fstatSync, readSync } from "node:fs";
import { openRegular } from "../../shared/regular-file.ts";

/**
 * @returns undefined if there is no such file
 * @throws Error if it is a link, no regular file, somebody else's, or longer than that
 */
export function readOwnFile(path: string, maxBytes: number): { text: string; mtimeMs: number } | undefined {
  let fd: number;
  try {
    fd = openRegular(path, false);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const { size, uid, mtimeMs } = fstatSync(fd);
    if (uid !== process.getuid?.()) throw new Error("it is somebody else's");
    if (size > maxBytes) throw new Error(`it is longer than ${maxBytes} bytes`);
    const bytes = Buffer.alloc(size);
    return { text: bytes.toString("utf8", 0, readSync(fd, bytes, 0, size, 0)), mtimeMs };
  } finally {
    closeSync(fd);
  }
}
