/** A small file that a person or a script of theirs put into a folder of ours. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

/** A link is not followed, and nothing waits for the other end of a FIFO. */
const READ_ONLY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * @returns undefined if there is no such file
 * @throws Error if it is a link, no regular file, somebody else's, or longer than that
 */
export function readOwnFile(path: string, maxBytes: number): { text: string; mtimeMs: number } | undefined {
  let fd: number;
  try {
    fd = openSync(path, READ_ONLY);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw code === "ELOOP" ? new Error("it is a link") : error;
  }
  try {
    const stats = fstatSync(fd);
    const { size, uid, mtimeMs } = stats;
    if (!stats.isFile()) throw new Error("it is no file");
    if (uid !== process.getuid?.()) throw new Error("it is somebody else's");
    if (size > maxBytes) throw new Error(`it is longer than ${maxBytes} bytes`);
    const bytes = Buffer.alloc(size);
    return { text: bytes.toString("utf8", 0, readSync(fd, bytes, 0, size, 0)), mtimeMs };
  } finally {
    closeSync(fd);
  }
}
