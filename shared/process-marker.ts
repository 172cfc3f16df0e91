/** What a process carries in its environment. Looked up in all processes of the machine before each start of an agent. */
import { closeSync, openSync, readSync } from "node:fs";

const CHUNK_BYTES = 64 * 1024;
/** No environment is longer: Linux bounds it. */
const MAX_BYTES = 16 * 1024 * 1024;
let space = Buffer.alloc(CHUNK_BYTES);

/**
 * Whether a process has this variable, with this value, in the environment that it was started with.
 * @param entry `NAME=value`
 * @returns false if the process is gone, or another user's
 */
export function hasVariable(pid: number, entry: string): boolean {
  const length = readEnvironment(pid);
  if (length === 0) return false;
  const wanted = Buffer.from(`${entry}\0`);
  const text = space.subarray(0, length);
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) {
    if (at === 0 || text[at - 1] === 0) return true;
  }
  return false;
}

/** Into {@link space}, ended with a zero. @returns its bytes */
function readEnvironment(pid: number): number {
  let fd: number | undefined;
  try {
    fd = openSync(`/proc/${pid}/environ`, "r");
    let length = 0;
    for (;;) {
      const count = readSync(fd, space, length, space.length - 1 - length, length);
      length += count;
      // A whole read that is shorter than its room has come to the end.
      if (count === 0 || length < space.length - 1) break;
      if (space.length >= MAX_BYTES) break;
      space = Buffer.concat([space, Buffer.alloc(space.length)]);
    }
    if (length > 0) space[length] = 0;
    return length === 0 ? 0 : length + 1;
  } catch {
    return 0; // gone meanwhile, or another user's
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
