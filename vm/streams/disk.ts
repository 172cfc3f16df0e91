/** Room on the disk that holds the state folder. */
import { statfsSync } from "node:fs";
import { AppError } from "../../shared/errors.ts";

/** Below, health says so. */
export const LOW_BYTES = 16 * 1024 * 1024;
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
