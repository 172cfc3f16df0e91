/**
 * Folders that are reached through no link: each on the way is opened as what it is, and files are named through the open
 * folder. An agent may put a link there at any moment.
 */
import { closeSync, constants, mkdirSync, openSync, readlinkSync } from "node:fs";

/** Node has no name for it. It only names a folder, so nobody need be allowed to list it. */
const O_PATH = 0o10000000;
const FOLDER_FLAGS = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * @param base a real path, which must not lead elsewhere by now
 * @param parts names of folders below it
 * @param isMade whether they are made if they are not there
 * @returns a descriptor, which the caller closes
 * @throws Error if one of them is no folder, or is not there
 */
export function openFolder(base: string, parts: readonly string[], isMade = false): number {
  let fd = openSync(base, FOLDER_FLAGS);
  try {
    if (readlinkSync(pathIn(fd)) !== base) throw new Error(`${base} leads elsewhere`);
    for (const part of parts) {
      const path = pathIn(fd, part);
      if (isMade) makeFolder(path);
      const next = openSync(path, FOLDER_FLAGS);
      closeSync(fd);
      fd = next;
    }
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** A name for what lies in an open folder; without one, for the folder itself. */
export function pathIn(fd: number, name?: string): string {
  return name === undefined ? `/proc/self/fd/${fd}` : `/proc/self/fd/${fd}/${name}`;
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
