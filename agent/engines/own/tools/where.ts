/**
 * Which files the file tools reach. They run in the engine's own process. If the machine can make a sandbox, the kernel
 * keeps that process out of the state folder and of people's secrets; these checks hold without one too, and keep the
 * tools, which ask less than commands do, to the thread's directory.
 */
import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { isWithin } from "../../../../shared/sandbox/mounts.ts";
import { findOtherNames } from "../../../../shared/sandbox/other-names.ts";
import { findSecretPlaces, looksSecret } from "../../../../shared/sandbox/secrets.ts";
import { quotedName } from "./names.ts";
import { ToolError } from "./tool-error.ts";

export interface Where {
  /** The thread's directory, a real path: what is in it may be read and written. */
  readonly dir: string;
  /** Other folders that may be read, such as the thread's attachments. Real paths. */
  readonly reads: readonly string[];
  /** Folders that may not be touched, such as the state folder. If two folders hold a file, the deeper one counts. */
  readonly closed: readonly string[];
}

/**
 * @param dir the thread's directory
 * @param reads other folders that it may read
 * @param stateDir undefined if nobody says where it is
 */
export function findWhere(
  dir: string,
  reads: readonly string[],
  stateDir: string | undefined,
  home: string | undefined,
): Where {
  const state = stateDir === undefined ? [] : [{ path: stateDir }, ...findOtherNames(stateDir)];
  const secrets = home === undefined ? [] : findSecretPlaces(home);
  return { dir: realpathSync(dir), reads, closed: [...state, ...secrets].map(({ path }) => path) };
}

const MAX_PATH_BYTES = 4_096;
const MAX_LINKS = 40;

/**
 * The real path of the file that the model names, which need not be there.
 * @throws ToolError if it is out of reach
 */
export function findPlace(named: string, where: Where, want: "read" | "write"): string {
  const path = realPlace(named, where.dir);
  const problem = findProblem(path, where, want);
  if (problem !== undefined) throw new ToolError(`${quotedName(named)} ${problem}`);
  return path;
}

/** Why it is out of reach; undefined if it is not. @param path a real path */
export function findProblem(path: string, where: Where, want: "read" | "write"): string | undefined {
  const open = [where.dir, ...where.reads].filter((folder) => isWithin(folder, path));
  const closed = where.closed.filter((folder) => isWithin(folder, path));
  if (depth(closed) > 0 && depth(closed) >= depth(open)) return "is closed to agents.";
  if (open.length === 0)
    return `is outside of this thread's directory, ${quotedName(where.dir)}. File tools work in it alone; a command may do it, if it is allowed.`;
  if (want === "write" && !isWithin(where.dir, path)) return "can only be read.";
  return undefined;
}

/** A write of it can make another program run something, or it looks like a secret: people are always asked. */
export function isDelicate(named: string, where: Where, want: "read" | "write"): boolean {
  try {
    return [resolve(where.dir, named), realPlace(named, where.dir)].some((path) => {
      const parts = relative(where.dir, path).split(sep);
      return looksSecret(path) || (want === "write" && parts.some((part) => part.toLowerCase() === ".git"));
    });
  } catch (error) {
    if (error instanceof ToolError) return false; // the call fails
    throw error;
  }
}

/** The path as it reads from the thread's directory. */
export function shownName(path: string, { dir }: Pick<Where, "dir">): string {
  const short = relative(dir, path);
  if (short === "") return ".";
  return quotedName(short === ".." || short.startsWith(`..${sep}`) ? path : short);
}

/** Follows every link, also one that leads to a name that is not there. */
function realPlace(named: string, dir: string): string {
  if (named.includes("\0")) throw new ToolError("A path can't have a NUL character in it.");
  if (Buffer.byteLength(named) > MAX_PATH_BYTES) throw new ToolError("The path is too long.");
  if (/^~(\/|$)/.test(named)) throw new ToolError("~ is not expanded. Give the path as it is.");
  try {
    return follow(resolve(dir, named), MAX_LINKS);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ELOOP") throw new ToolError(`${quotedName(named)} is a link that leads to itself.`);
    if (code === "EACCES") throw new ToolError(`${quotedName(named)} can't be reached: permission denied.`);
    if (code === "ENOTDIR")
      throw new ToolError(`${quotedName(named)} can't be there: what holds it is a file.`);
    if (code === "ENAMETOOLONG") throw new ToolError(`${quotedName(named)} has too long a name.`);
    throw error;
  }
}

function follow(path: string, links: number): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || path === sep) throw error;
  }
  const place = join(follow(dirname(path), links), basename(path));
  if (lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return place;
  if (links === 0) throw Object.assign(new Error(place), { code: "ELOOP" });
  return follow(resolve(dirname(place), readlinkSync(place)), links - 1);
}

/** The depth of the deepest folder. */
function depth(folders: readonly string[]): number {
  return Math.max(0, ...folders.map((folder) => folder.length));
}
