/** Room on the disk that holds the state folder, and what folders in it take. */
import { statfsSync } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../shared/errors.ts";

/** Below, health says so. */
export const LOW_BYTES = 16 * 1024 * 1024;
/** Why a file of a program can't be looked at. */
const UNSEEN = new Set(["ENOENT", "ENOTDIR", "EACCES", "ENAMETOOLONG", "ELOOP"]);
/** Below, no thread is begun: its output would soon have nowhere to go. */
export const FULL_BYTES = 1024 * 1024;

export function freeDiskBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** Undefined where the file system makes as many as it is asked for. */
export function freeInodes(folder: string): number | undefined {
  const { files, ffree } = statfsSync(folder);
  return files === 0 ? undefined : ffree;
}

export function diskFull(cause?: unknown): AppError {
  return new AppError("unavailable", "The VM's disk is full; nothing was changed.", { cause });
}

/**
 * Measures what a folder takes on disk, in bytes, without what can't be looked at; 0 if there is none. A folder may hold
 * many files: others go on meanwhile.
 */
export async function diskBytesOf(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of (await unlessGone(readdir(folder, { withFileTypes: true }))) ?? []) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) bytes += await diskBytesOf(path);
    else bytes += ((await unlessGone(lstat(path)))?.blocks ?? 0) * 512;
  }
  return bytes;
}

/** Programs rename, remove and close files while they are counted, and may have made paths too long for a name. */
async function unlessGone<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (error) {
    if (!UNSEEN.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
    return undefined;
  }
}
