/** A file as it is before a call changes it. */
import { createHash } from "node:crypto";
import { lstatSync, readSync } from "node:fs";
import { access, constants } from "node:fs/promises";
import { formatCount } from "../../../../shared/format-count.ts";
import { type FileStamp, isSameStamp, stampOf, withFile, worded } from "./open-file.ts";
import { ToolError } from "./tool-error.ts";
import { findPlace, shownName, type Where } from "./where.ts";

export interface Snapshot {
  bytes: Buffer;
  sha256: string;
  stamp: FileStamp;
  mode: number;
  uid: number;
  gid: number;
}

/** A larger file is not changed by these tools. */
export const MAX_FILE_BYTES = 16 * 1024 * 1024;

/**
 * The file that is to be written, null if there is none yet.
 * @throws ToolError if it may not be written, or can't be
 */
export async function takeSnapshot(
  named: string,
  where: Where,
): Promise<{ path: string; old: Snapshot | null }> {
  const path = findPlace(named, where, "write");
  const name = shownName(path, where);
  if ((await worded(name, async () => lstatSync(path, { throwIfNoEntry: false }))) === undefined)
    return { path, old: null };
  const old = await withFile(path, where, async ({ handle, stamp }) => {
    if (stamp.size > MAX_FILE_BYTES)
      throw new ToolError(
        `${name} has ${formatCount(Number(stamp.size))} bytes. Files of more than ${formatCount(MAX_FILE_BYTES)} are changed by commands.`,
      );
    await worded(name, () => access(path, constants.W_OK));
    const bytes = await handle.readFile();
    const { mode, uid, gid } = await handle.stat();
    if (!isSameStamp(stamp, await stampOf(handle)))
      throw new ToolError(`${name} was changed while it was read. Nothing was written: try again.`);
    return { bytes, sha256: hashOf(bytes), stamp, mode, uid, gid };
  });
  return { path, old };
}

export function hashOf(data: Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

/** In pieces, whatever its length. */
export function hashOfFile(fd: number): string {
  const hash = createHash("sha256");
  const piece = Buffer.allocUnsafe(1024 * 1024);
  for (let read = readSync(fd, piece); read > 0; read = readSync(fd, piece))
    hash.update(piece.subarray(0, read));
  return hash.digest("hex");
}
