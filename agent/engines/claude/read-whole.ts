/** Files of foreign directories: never waited for, never longer than we have room for. */
import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from "node:fs";

/** @returns undefined if nothing is there; never waits for a FIFO or a device */
export function readWhole(
  path: string,
  max: number,
): Buffer | { problem: string; isTooLong: boolean } | undefined {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR"
      ? undefined
      : { problem: `it can't be read (${code})`, isTooLong: false };
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) return stat.isDirectory() ? undefined : { problem: "it is no file", isTooLong: true };
    if (stat.size > max) return { problem: "it is too long to be looked at", isTooLong: true };
    const body = Buffer.alloc(stat.size);
    let length = 0;
    for (let read = -1; read !== 0 && length < body.length; length += read)
      read = readSync(fd, body, length, body.length - length, length);
    return body.subarray(0, length);
  } finally {
    closeSync(fd);
  }
}

/** @returns undefined if nothing is there, or nobody may look */
export function realPathOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EACCES" || code === "ELOOP") return undefined;
    throw error;
  }
}
