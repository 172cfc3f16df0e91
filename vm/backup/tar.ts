/** The system's tar, by which a backup is written and read. */
import { execFile } from "node:child_process";
import { AppError } from "../../shared/errors.ts";

/** A list of names that are not in an archive may be long. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/**
 * Tar's exit code if a file grew, shrank or went while it was read, which is no failure. From a file that grows it takes
 * as many bytes as there were when it began.
 */
const CHANGED = 1;

/**
 * Its words are read, so LC_ALL must be C.
 * @returns standard output
 * @throws AppError `internal` with tar's own last words; or that the disk is full
 */
export function tar(args: readonly string[], signal?: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { maxBuffer: MAX_OUTPUT_BYTES, signal };
    execFile("tar", [...args], options, (error, stdout, stderr) => {
      if (!error || error.code === CHANGED) return resolve(stdout);
      reject(explained(error, stderr));
    });
  });
}

function explained(error: Error & { code?: unknown }, stderr: string): Error {
  if (error.name === "AbortError") return error;
  if (error.code === "ENOENT")
    return new AppError("internal", "tar is not installed: apt-get install -y tar");
  const lines = stderr.trim().split("\n");
  if (/No space left on device|Disk quota exceeded|Wrote only \d+ of/.test(stderr)) return diskFull(error);
  // Its last line only says that there were others.
  const words = lines.find((line) => !/Exiting with failure/.test(line)) ?? error.message;
  return new AppError("internal", `tar: ${words.replace(/^tar: /, "").slice(0, 300)}`, { cause: error });
}

export function diskFull(cause: unknown): AppError {
  return new AppError("internal", "the disk is full; nothing was kept", { cause });
}
