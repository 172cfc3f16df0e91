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

export function diskFull(cause?: unknown): AppError {
  return new AppError("unavailable", "The VM's disk is full; nothing was changed.", { cause });
}
