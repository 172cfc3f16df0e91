/**
 * A folder for Chromium's temporary files. It makes a socket there, whose path may have 107 bytes (`sun_path`): below
 * a state folder that lies deep it would have more, and Chromium does not start.
 */
import { lstatSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const START = "/tmp/tmx-";
/** Holds the folder's path, in the thread's folder: whoever was killed removes nothing. */
const NOTE = "tmp-folder";

/** What Chromium puts behind it. */
const SOCKET = "/org.chromium.Chromium.abcdef/SingletonSocket";
const MAX_PATH = 107;

/** @param wanted is taken if its path is short enough. @throws Error of the file system */
export function makeShortTmp(folder: string, wanted: string): string {
  removeShortTmp(folder);
  if (Buffer.byteLength(wanted + SOCKET) <= MAX_PATH) return wanted;
  const made = mkdtempSync(START);
  writeFileSync(join(folder, NOTE), made, { mode: 0o600 });
  return made;
}

/** Removes the thread's, if it is there and our own. */
export function removeShortTmp(folder: string): void {
  const path = readNote(join(folder, NOTE));
  if (path === undefined || !/^[A-Za-z0-9]{6}$/.test(path.slice(START.length)) || !path.startsWith(START))
    return;
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() && found.uid === process.getuid?.())
    rmSync(path, { recursive: true, force: true });
  rmSync(join(folder, NOTE), { force: true });
}

function readNote(file: string): string | undefined {
  return lstatSync(file, { throwIfNoEntry: false })?.isFile() ? readFileSync(file, "utf8") : undefined;
}
