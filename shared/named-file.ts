/** A file of a folder in which others write: looked at before it is opened. */
import { closeSync, constants, fstatSync, openSync, type PathLike, type Stats } from "node:fs";

/** Only names the file: nothing is told of it. Node has no name for it. */
const O_PATH = 0o10000000;

export interface NamedFile {
  /** Leads to this file alone, whatever its path leads to meanwhile; until it is let go. */
  name: string;
  stats: Stats;
  letGo: () => void;
}

/**
 * Names a file without opening it. Opening a FIFO releases a writer that waits for a reader, and opening a device may do
 * anything. A caller therefore checks `stats` first, and then opens `name`.
 * @param isFollowed whether a link is followed; if not, `stats` are the link's
 * @throws NodeJS.ErrnoException `ENOENT` and the like
 */
export function nameFile(path: PathLike, isFollowed: boolean): NamedFile {
  const fd = openSync(path, O_PATH | (isFollowed ? 0 : constants.O_NOFOLLOW));
  const letGo = () => closeSync(fd);
  try {
    return { name: `/proc/self/fd/${fd}`, stats: fstatSync(fd), letGo };
  } catch (error) {
    letGo();
    throw error;
  }
}
