/**
 * The mounts of the mode `workspace`. All of the disk is read-only; over that lie empty places, the thread's
 * own places, and what is shown in those. Pure but for {@link makePlaces}.
 */
import { closeSync, lstatSync, mkdirSync, openSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { removeTreeNow } from "../remove-tree.ts";
import type { SecretPlace } from "./secrets.ts";

export interface Mount {
  path: string;
  /** `own`: `source`, a folder of this box alone, is seen there, and can be written. */
  kind: "empty" | "own" | "read" | "write";
  isFolder: boolean;
  /** What is seen there, if it is not the path itself. */
  source?: string;
}

/**
 * In the order in which they are to be made: a folder before what lies in it.
 * @param base empty and own places
 * @param shown left out if it can be read anyway
 * @param secrets left out if they are out of sight anyway
 * @param kept files that stay as they are, also in what can be written
 */
export function layMounts(
  base: readonly Mount[],
  shown: readonly Mount[],
  secrets: readonly SecretPlace[],
  kept: readonly string[] = [],
): Mount[] {
  const all = byDepth(base);
  for (const mount of byDepth(shown)) {
    if (mount.kind === "write" || isUnseen(all, mount.path)) all.push(mount);
  }
  for (const { path, isFolder } of secrets) {
    if (!isUnseen(all, path)) all.push({ path, kind: "empty", isFolder });
  }
  all.push(...kept.map((path): Mount => ({ path, kind: "read", isFolder: false })));
  return byDepth(all);
}

function isUnseen(mounts: readonly Mount[], path: string): boolean {
  const kind = nearest(mounts, (one) => isWithin(one.path, path))?.kind;
  return kind === "empty" || kind === "own";
}

/** The deepest; of the same path the last. */
function nearest(mounts: readonly Mount[], fits: (mount: Mount) => boolean): Mount | undefined {
  return byDepth(mounts.filter(fits)).at(-1);
}

function byDepth(mounts: readonly Mount[]): Mount[] {
  const depth = ({ path }: Mount) => path.split(sep).length;
  return [...mounts].sort((one, other) => depth(one) - depth(other));
}

/** Also if they are the same. */
export function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder === sep ? sep : `${folder}${sep}`);
}

export function bwrapArgsOf(mounts: readonly Mount[], emptyFile: string): string[] {
  const made = mounts.flatMap(({ path, kind, isFolder, source = path }) => {
    if (kind === "empty") return isFolder ? ["--tmpfs", path] : ["--ro-bind", emptyFile, path];
    return [kind === "read" ? "--ro-bind" : "--bind", source, path];
  });
  const empty = mounts.filter(({ kind, isFolder }) => kind === "empty" && isFolder);
  return [...made, ...empty.flatMap(({ path }) => ["--remount-ro", path])];
}

/**
 * Makes the own places, and in them the places of what is mounted there: a link that the agent has left in one of them
 * would have bwrap make files elsewhere.
 */
export function makePlaces(mounts: readonly Mount[]): void {
  for (const { kind, source } of mounts) {
    if (kind === "own" && source !== undefined) mkdirSync(source, { recursive: true, mode: 0o700 });
  }
  for (const { path, isFolder } of mounts) {
    const above = nearest(mounts, (one) => one.path !== path && isWithin(one.path, path));
    if (above?.kind === "own") makePlace(above, path, isFolder);
  }
}

/** @returns where it is on the disk */
export function makePlace({ path: top, source = top }: Mount, path: string, isFolder: boolean): string {
  mkdirSync(source, { recursive: true, mode: 0o700 });
  let at = source;
  const names = relative(top, path).split(sep);
  for (const [index, name] of names.entries()) {
    at = join(at, name);
    const wantsFolder = isFolder || index < names.length - 1;
    const found = lstatSync(at, { throwIfNoEntry: false });
    if (found && (wantsFolder ? found.isDirectory() : found.isFile())) continue;
    if (found) removeTreeNow(at);
    if (wantsFolder) mkdirSync(at, { mode: 0o700 });
    else closeSync(openSync(at, "wx", 0o600));
  }
  return at;
}

/** Takes away what may lie there; folders on the way that are none are taken away too. */
export function clearPlace(own: Mount, path: string): void {
  const folder = makePlace(own, dirname(path), true);
  removeTreeNow(join(folder, relative(dirname(path), path)));
}
