/** Finds the file that a lock is about, whichever of its names a call uses. */
import { readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

/** The system follows this many links. */
const MAX_LINKS = 40;

/** The real path of the file, which need not be there yet, and neither need its folders. */
export function lockPathOf(path: string, dir: string, home: string): string {
  const meant = path.startsWith("~/") ? join(home, path.slice(2)) : resolve(dir, path);
  return realPathOf(meant, MAX_LINKS);
}

function realPathOf(path: string, links: number): string {
  try {
    return realpathSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const parent = dirname(path);
    if (code !== "ENOENT" || parent === path || links === 0) return path; // no call will come further than this
    const link = findLink(path);
    // A link to a file that is not there: that file is the one that will be written.
    if (link !== undefined) return realPathOf(resolve(parent, link), links - 1);
    return join(realPathOf(parent, links), basename(path));
  }
}

function findLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined; // no link
  }
}
