/** Notifications of a folder's changes. A user has only so many on a machine, so whoever waits also looks by itself. */
import { type FSWatcher, watch } from "node:fs";

/** @returns undefined if the system gives none: nothing will be told then */
export function watchFolder(folder: string, onChange: () => void): FSWatcher | undefined {
  try {
    return watch(folder, onChange).on("error", () => {}); // the folder is gone: the next look says so
  } catch {
    return undefined; // no watch is left, or there is no such folder
  }
}
