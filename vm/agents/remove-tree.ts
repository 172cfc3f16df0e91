/** Removes a folder in which an agent has worked. */
import { chmod, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

/**
 * Removes it with all that is in it; links are removed and not followed. Folders that are closed to us (Go's module
 * cache makes its own read-only) are opened first. Nothing may write there any more.
 * @throws Error if something in it is another user's
 */
export async function removeTree(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error;
    await openFolders(folder);
    await rm(folder, { recursive: true, force: true });
  }
}

async function openFolders(folder: string): Promise<void> {
  await chmod(folder, 0o700);
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (entry.isDirectory()) await openFolders(join(folder, entry.name));
}
