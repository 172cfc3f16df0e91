/** Opens files that other processes may swap, or change, at any moment. */
import type { Stats } from "node:fs";
import { type FileHandle, readlink } from "node:fs/promises";
import { openRegularFile, UnfitFile } from "../../../../shared/regular-file.ts";
import { quotedName } from "./names.ts";
import { ToolError } from "./tool-error.ts";
import { findPlace, findProblem, type Where } from "./where.ts";

export interface OpenFile {
  handle: FileHandle;
  /** A real path. */
  path: string;
  stamp: FileStamp;
}

/** Changes whenever the file does. */
export interface FileStamp {
  size: bigint;
  changedNs: bigint;
  /** The id of the file itself, which another file of the same name does not have. */
  id: bigint;
}

/**
 * Opens a regular file for reading, and calls `use` with it.
 * @throws ToolError if it is none, or out of reach
 */
export async function withFile<T>(
  named: string,
  where: Where,
  use: (file: OpenFile) => Promise<T>,
): Promise<T> {
  const path = findPlace(named, where, "read");
  const name = quotedName(named);
  const handle = await worded(name, () => openRegularFile(path, false)).catch((error) => {
    throw error instanceof UnfitFile ? new ToolError(`${name} ${kindOf(error.stats)}`) : error;
  });
  try {
    // A folder on the way may be a link by now.
    const real = await readlink(`/proc/self/fd/${handle.fd}`);
    const problem = findProblem(real, where, "read");
    if (problem !== undefined) throw new ToolError(`${name} ${problem}`);
    return await worded(name, async () => use({ handle, path, stamp: await stampOf(handle) }));
  } finally {
    await handle.close();
  }
}

export async function stampOf(handle: FileHandle): Promise<FileStamp> {
  const { size, mtimeNs, ctimeNs, ino } = await handle.stat({ bigint: true });
  return { size, changedNs: mtimeNs > ctimeNs ? mtimeNs : ctimeNs, id: ino };
}

export function isSameStamp(one: FileStamp, other: FileStamp): boolean {
  return one.size === other.size && one.changedNs === other.changedNs && one.id === other.id;
}

/**
 * Does `work`, and says in a sentence for the model why the system refused it.
 * @param name fit to be shown
 * @param own other words for some codes
 */
export async function worded<T>(
  name: string,
  work: () => Promise<T>,
  own: Readonly<Record<string, string>> = {},
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === undefined ? undefined : (own[code] ?? REASONS[code]);
    if (why === undefined) throw error;
    throw new ToolError(`${name} ${why}`);
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "does not exist.",
  EACCES: "can't be used: permission denied.",
  EPERM: "can't be used: permission denied.",
  EROFS: "can't be written: its file system is read-only.",
  ENOTDIR: "can't be there: what holds it is a file.",
  EISDIR: "is a directory.",
  ELOOP: "was swapped for a link meanwhile. Try again.",
  ENOSPC: "can't be written: the disk is full.",
  EDQUOT: "can't be written: the disk's quota is used up.",
  EFBIG: "can't be written: it would be too large.",
  EIO: "can't be read: the disk reports an error.",
  ENXIO: "is a socket or a device, not a file.",
  ENAMETOOLONG: "has too long a name.",
  EMFILE: "can't be opened: too many files are open.",
  ETXTBSY: "can't be written: it runs as a program.",
};

function kindOf(stat: Stats): string {
  if (stat.isDirectory()) return "is a directory: list it with ls.";
  if (stat.isFIFO()) return "is a FIFO, not a file: reading it would wait for somebody who writes.";
  if (stat.isSocket()) return "is a socket, not a file.";
  return "is a device or the like, not a file.";
}
