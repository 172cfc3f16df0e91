/** The directory that an engine is started in. It had no link in it when its thread was made, and must have none now. */
import { closeSync, constants, openSync, readlinkSync, realpathSync } from "node:fs";

/** Only names the directory, so nobody need be allowed to list it. Node has no name for it. */
const O_PATH = 0o10000000;
/** No name of a directory. */
const NOWHERE = "/proc/self/fd/none";

/** Whether the way there was changed: it, or a folder above it, was swapped for a link. */
export function leadsElsewhere(dir: string): boolean {
  try {
    return realpathSync(dir) !== dir;
  } catch {
    return false; // it is not there
  }
}

/**
 * Calls `start` with another name of the directory, which leads there alone, whatever its own name leads to meanwhile.
 * It leads nowhere if the directory is not there, or elsewhere by now.
 * @param start must have entered the directory when it returns
 */
export function inDirectory<T>(dir: string, start: (cwd: string) => T): T {
  let fd: number;
  try {
    fd = openSync(dir, O_PATH | constants.O_DIRECTORY);
  } catch {
    return start(NOWHERE);
  }
  try {
    const name = `/proc/self/fd/${fd}`;
    return start(readlinkSync(name) === dir ? name : NOWHERE);
  } finally {
    closeSync(fd);
  }
}
