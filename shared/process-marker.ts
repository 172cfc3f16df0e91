/** What a process carries in its environment. Looked up in all processes of the machine before each start of an agent. */
import { readProcFile } from "./proc-file.ts";

/**
 * Whether a process has this variable, with this value, in the environment that it was started with.
 * @param entry `NAME=value`
 * @returns false if the process is gone, or another user's
 */
export function hasVariable(pid: number, entry: string): boolean {
  const text = readProcFile(pid, "environ");
  if (text === undefined) return false;
  const wanted = Buffer.from(entry);
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) {
    const end = at + wanted.length;
    if ((at === 0 || text[at - 1] === 0) && (end === text.length || text[end] === 0)) return true;
  }
  return false;
}
