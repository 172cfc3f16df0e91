/**
 * Changes files so that each is the old one or the new one at any moment: what it will be is known before, written
 * beside it, and takes its place by a rename. A death in the midst of it is settled by the contents that were announced.
 */
import { closeSync, constants, readdirSync, realpathSync, rmSync } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readlink, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { openRegular } from "../../../../shared/regular-file.ts";
import { isSameStamp, worded } from "./open-file.ts";
import { hashOf, hashOfFile, type Snapshot } from "./snapshot.ts";
import type { FileChange, ToolContext } from "./tool.ts";
import { ToolError } from "./tool-error.ts";
import { shownName } from "./where.ts";

export interface PlannedFile {
  /** A real path, which may be written. */
  path: string;
  /** Null: there is no file. */
  old: Snapshot | null;
  /** Null: it is removed. */
  new: Buffer | null;
  /** The mode of the file that is moved here. */
  mode?: number | undefined;
}

/** Only names the folder: nobody need be allowed to list it. Node has no name for it. */
const O_PATH = 0o10000000;
const PERMISSIONS = 0o7777;

/**
 * Writes all of them or none.
 * @throws ToolError if one can't be written, or was changed since its snapshot
 */
export async function changeFiles(files: readonly PlannedFile[], context: ToolContext): Promise<void> {
  context.signal.throwIfAborted();
  await context.beforeWrite(
    files.map((file) => ({
      file: file.path,
      old: file.old?.sha256 ?? null,
      new: file.new === null ? null : hashOf(file.new),
    })),
  );
  context.signal.throwIfAborted();
  const places: Place[] = [];
  const done: Place[] = [];
  try {
    for (const file of files) places.push(await prepare(file, places.length, context));
    for (const place of places) await checkUnchanged(place);
    // A file that is moved is in both places for a moment, rather than in none.
    for (const place of inOrder(places)) {
      await worded(place.name, () => put(place));
      done.push(place);
    }
  } catch (error) {
    for (const place of done.reverse()) await putBack(place, context);
    throw error;
  } finally {
    for (const { folder, part } of places) {
      await rm(join(nameOf(folder), part), { force: true });
      await folder.close();
    }
  }
}

/**
 * Finds how a call ended that died after it had announced its changes: `completed` if all files are as they were to
 * become, `run` if all are as they were before, so that it can run now. Removes what it left beside them.
 */
export function settleWrites(
  changes: readonly FileChange[],
  callId: string,
): "completed" | "run" | "unknown" {
  for (const folder of new Set(changes.map(({ file }) => dirname(file)))) removeParts(folder, callId);
  const found = changes.map(({ file }) => hashNow(file));
  if (changes.every(({ new: wanted }, at) => found[at] === wanted)) return "completed";
  return changes.every(({ old }, at) => found[at] === old) ? "run" : "unknown";
}

interface Place extends PlannedFile {
  /** For sentences. */
  name: string;
  /** The one that holds it, which stays the same whatever its name leads to. */
  folder: FileHandle;
  part: string;
}

async function prepare(file: PlannedFile, index: number, context: ToolContext): Promise<Place> {
  const name = shownName(file.path, context);
  const folder = await worded(name, () => openFolder(file.path, file.new !== null));
  const part = `${partStart(context.callId)}${index}`;
  try {
    if (file.new !== null) await worded(name, () => writePart(folder, part, file));
    return { ...file, name, folder, part };
  } catch (error) {
    await rm(join(nameOf(folder), part), { force: true });
    await folder.close();
    throw error;
  }
}

async function openFolder(path: string, isMade: boolean): Promise<FileHandle> {
  const wanted = dirname(path);
  if (isMade) await mkdir(wanted, { recursive: true });
  const folder = await open(wanted, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  if ((await readlink(nameOf(folder))) === wanted) return folder;
  await folder.close();
  throw new ToolError(
    `A folder on the way to ${path} was swapped for a link meanwhile. Nothing was written.`,
  );
}

async function writePart(
  folder: FileHandle,
  part: string,
  { new: data, old, mode }: PlannedFile,
): Promise<void> {
  const path = join(nameOf(folder), part);
  await rm(path, { force: true });
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const handle = await open(path, flags, 0o666);
  try {
    await handle.writeFile(data ?? "");
    if (old) await keepOwner(handle, old);
    const kept = old?.mode ?? mode;
    if (kept !== undefined) await handle.chmod(kept & PERMISSIONS);
  } finally {
    await handle.close();
  }
}

/** Who may not give it away has it. */
async function keepOwner(handle: FileHandle, { uid, gid }: Snapshot): Promise<void> {
  const now = await handle.stat();
  if (now.uid === uid && now.gid === gid) return;
  try {
    await handle.chown(uid, gid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
  }
}

async function checkUnchanged({ folder, path, old, name }: Place): Promise<void> {
  const now = await readStamp(join(nameOf(folder), basename(path)));
  const isSame =
    now === undefined || old === null ? now === undefined && old === null : isSameStamp(now, old.stamp);
  if (!isSame)
    throw new ToolError(
      `${name} was changed meanwhile by somebody else. Nothing was written: read it again.`,
    );
}

async function readStamp(path: string) {
  try {
    const { size, mtimeNs, ctimeNs, ino } = await lstat(path, { bigint: true });
    return { size, changedNs: mtimeNs > ctimeNs ? mtimeNs : ctimeNs, id: ino };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function inOrder(places: readonly Place[]): Place[] {
  return [...places.filter((place) => place.new !== null), ...places.filter((place) => place.new === null)];
}

async function put({ folder, path, part, new: data }: Place): Promise<void> {
  const target = join(nameOf(folder), basename(path));
  if (data === null) await rm(target);
  else await rename(join(nameOf(folder), part), target);
}

async function putBack(place: Place, { callId }: ToolContext): Promise<void> {
  if (place.old === null) {
    await rm(join(nameOf(place.folder), basename(place.path)));
    return;
  }
  const part = `${partStart(callId)}back`;
  const { old } = place;
  await writePart(place.folder, part, { ...place, new: old.bytes });
  await put({ ...place, part, new: old.bytes });
}

function nameOf(folder: FileHandle): string {
  return `/proc/self/fd/${folder.fd}`;
}

function partStart(callId: string): string {
  return `.threadmux-${callId.replace(/[^\w-]/g, "_").slice(0, 100)}.part`;
}

function removeParts(folder: string, callId: string): void {
  try {
    if (realpathSync(folder) !== folder) return;
    for (const name of readdirSync(folder))
      if (name.startsWith(partStart(callId))) rmSync(join(folder, name), { force: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ENOTDIR" && code !== "EACCES") throw error;
  }
}

/** Null if there is no file, undefined if what is there can't be told. */
function hashNow(path: string): string | null | undefined {
  try {
    if (realpathSync(path) !== path) return undefined;
    const fd = openRegular(path, false);
    try {
      return hashOfFile(fd);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR" ? null : undefined;
  }
}
