/** Makes a state folder of a backup: all of it, or nothing. */
import {
  closeSync,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  truncateSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { RestoreDone } from "../../shared/backup.ts";
import { AppError, errorText } from "../../shared/errors.ts";
import { statePaths } from "../config.ts";
import { checkStateDir } from "../state-dir.ts";
import { renewMarkers } from "../store/copy.ts";
import { checkDatabase } from "../store/database.ts";
import { isLockHeld } from "../store/lock.ts";
import { newMarker } from "../threads/names.ts";
import { DATABASE, MANIFEST, type Manifest, notOne, parseManifest } from "./manifest.ts";
import { tar } from "./tar.ts";

/**
 * @param signal gives up; nothing is left then
 * @throws AppError `invalid_request` if it is no backup, of a newer version, or the folder is in use or not empty;
 *   `internal` in words for a person, with nothing kept
 */
export async function restore(source: string, target: string, signal?: AbortSignal): Promise<RestoreDone> {
  const file = resolve(source);
  const dir = resolve(target);
  const manifest = await readManifest(file, signal);
  refuseFolder(dir);
  mkdirSync(dirname(dir), { recursive: true, mode: 0o700 });
  const isMoved = manifest.stateDir !== join(realpathSync(dirname(dir)), basename(dir));
  const part = mkdtempSync(join(dirname(dir), `.${basename(dir)}.part-`));
  try {
    await tar(["--extract", `--file=${file}`, "--no-same-owner", "-C", part], signal);
    rmSync(join(part, MANIFEST));
    if (!existsSync(join(part, DATABASE)))
      throw new AppError("invalid_request", `${file} is cut off: it has no database; nothing was kept`);
    checkDatabase(join(part, DATABASE));
    cutOff(part, manifest.ends ?? {});
    // The original's programs may go on there. In its own place they are what the sidecar finds without a session, and ends.
    if (isMoved) renewMarkers(join(part, DATABASE), newMarker);
    if (existsSync(dir)) rmdirSync(dir); // empty, as was looked at; else it refuses
    renameSync(part, dir);
  } catch (error) {
    rmSync(part, { recursive: true, force: true });
    throw explained(error, file, dir);
  }
  return {
    dir,
    threads: manifest.threads,
    madeAt: manifest.madeAt,
    movedFrom: isMoved ? manifest.stateDir : null,
  };
}

/** Makes the files that grow as long as they were at the backup's moment; lines are whole. */
function cutOff(dir: string, ends: NonNullable<Manifest["ends"]>): void {
  for (const [name, end] of Object.entries(ends)) {
    const file = join(dir, name);
    // The archive is somebody's file: its names lead nowhere else.
    if (
      !/^(logs|threads\/[\w-]+)\/[\w.-]+$/.test(name) ||
      !lstatSync(file, { throwIfNoEntry: false })?.isFile()
    )
      continue;
    if (statSync(file).size > end) truncateSync(file, end);
    if (name.endsWith(".jsonl")) truncateSync(file, findLastLineEnd(file));
  }
}

/** @returns the offset behind the last line end; 0 if there is none */
function findLastLineEnd(file: string): number {
  const fd = openSync(file, "r");
  try {
    const block = Buffer.alloc(64 * 1024);
    for (let end = fstatSync(fd).size; end > 0; ) {
      const start = Math.max(0, end - block.length);
      const length = readSync(fd, block, 0, end - start, start);
      const at = block.subarray(0, length).lastIndexOf(0x0a);
      if (at >= 0) return start + at + 1;
      end = start;
    }
    return 0;
  } finally {
    closeSync(fd);
  }
}

async function readManifest(file: string, signal?: AbortSignal) {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat) throw new AppError("invalid_request", `${file} is not there`);
  if (!stat.isFile()) throw notOne(file);
  const args = ["--extract", "--to-stdout", "--occurrence=1", `--file=${file}`, "--", MANIFEST];
  const text = await tar(args, signal).catch((error: unknown) => {
    throw error instanceof AppError && /^tar: /.test(error.message) ? notOne(file, error) : error;
  });
  return parseManifest(file, text);
}

function refuseFolder(dir: string): void {
  const refuse = (words: string, cause?: unknown) => new AppError("invalid_request", words, { cause });
  try {
    checkStateDir(dir);
  } catch (cause) {
    throw refuse(errorText(cause), cause);
  }
  if (!existsSync(dir)) return;
  const { lock } = statePaths(dir);
  if (existsSync(lock) && isLockHeld(lock))
    throw refuse(`a sidecar runs on ${dir}: end it first, or name another folder by --to`);
  if (readdirSync(dir).length > 0)
    throw refuse(`${dir} is not empty: move it away, or name another folder by --to; nothing was changed`);
}

function explained(error: unknown, file: string, dir: string): unknown {
  const { code } = error as { code?: string };
  if (code === "ENOTEMPTY")
    return new AppError("invalid_request", `${dir} was filled meanwhile; nothing was kept`);
  if (error instanceof AppError && /^tar: .*(Unexpected EOF|not look like|checksum)/i.test(error.message))
    return new AppError(
      "invalid_request",
      `${file} is cut off or damaged (${error.message}); nothing was kept`,
    );
  if (error instanceof AppError || (error as Error).name === "AbortError") return error;
  return new AppError("internal", `${errorText(error)}; nothing was kept`, { cause: error });
}
