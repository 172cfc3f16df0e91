/** Reads /proc, where a look at hundreds of processes has to be cheap. */
import { closeSync, openSync, readSync } from "node:fs";

const FIRST_BYTES = 64 * 1024;
/** No environment is longer: Linux bounds it. */
const MAX_BYTES = 16 * 1024 * 1024;
/** The kernel gives at least as much of a file at once, if the file has it. */
const PAGE_BYTES = 4_096;
/** `readFileSync` would make 64 KiB for each file: with hundreds of processes that costs more than the reading. */
let room = Buffer.allocUnsafeSlow(FIRST_BYTES);

/**
 * A file of `/proc/<pid>`, such as `stat` or `environ`.
 * @returns a view that holds until the next call; undefined if the process is gone, or another user's
 */
export function readProcFile(pid: number, file: string): Buffer | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(`/proc/${pid}/${file}`, "r");
    let length = 0;
    for (;;) {
      const count = readSync(fd, room, length, room.length - length, null);
      length += count;
      if (count === 0 || length < PAGE_BYTES) return room.subarray(0, length);
      if (length < room.length) continue;
      if (length >= MAX_BYTES) return room;
      room = Buffer.concat([room, Buffer.allocUnsafeSlow(length)]);
    }
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
