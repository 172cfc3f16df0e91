/** What a lock is about: the file itself, whichever of its names a call uses. */
import { readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { cleanLine } from "../../shared/clean-text.ts";

/** As many as the system follows. */
const MAX_LINKS = 40;
const MAX_SHOWN = 150;

/** The real path of the file, which need not be there yet, and neither need its folders. */
export function lockPathOf(path: string, dir: string, home: string): string {
  const meant = path.startsWith("~/") ? join(home, path.slice(2)) : resolve(dir, path);
  return realPathOf(meant, MAX_LINKS);
}

/** For people and models: one line, as the directory names the file; of a very long name its end. */
export function shownPath(path: string, dir: string): string {
  const short = relative(dir, path);
  const name = cleanLine(short === "" || short.startsWith("..") ? path : short);
  return name.length > MAX_SHOWN ? `…${name.slice(1 - MAX_SHOWN)}` : name;
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
