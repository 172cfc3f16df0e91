/** Removes a folder in which an agent has worked. */
import { chmodSync, readdirSync, rmSync } from "node:fs";
import { chmod, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

const ALL = { recursive: true, force: true };

/**
 * Removes it with all that is in it; links are removed and not followed. Folders that are closed to us (Go's module
 * cache makes its own read-only) are opened first. Nothing may write there any more.
 * @throws Error if something in it is another user's
 */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, ALL);
  } catch (error) {
    if (!isClosed(error)) throw error;
    await openFolders(path);
    await rm(path, ALL);
  }
}

/** {@link removeTree}, for what is small or must be gone before anything goes on. */
export function removeTreeNow(path: string): void {
  try {
    rmSync(path, ALL);
  } catch (error) {
    if (!isClosed(error)) throw error;
    openFoldersNow(path);
    rmSync(path, ALL);
  }
}

function isClosed(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "EACCES";
}

async function openFolders(folder: string): Promise<void> {
  await chmod(folder, 0o700);
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (entry.isDirectory()) await openFolders(join(folder, entry.name));
}

function openFoldersNow(folder: string): void {
  chmodSync(folder, 0o700);
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) openFoldersNow(join(folder, entry.name));
}
