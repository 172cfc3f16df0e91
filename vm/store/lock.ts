/** One sidecar a state folder. */
import Sqlite from "better-sqlite3";
import { makePrivate } from "./database.ts";

/**
 * Holds the state folder for this process until it ends, however it ends (SQLite's file lock goes with it).
 * @throws Error if another sidecar has it.
 */
export function holdLock(file: string, waitMs = 3_000): { release: () => void } {
  makePrivate(file);
  const db = new Sqlite(file, { timeout: waitMs });
  try {
    db.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    db.close();
    throw new Error("another sidecar runs on this STATE_DIR; stop it first, or choose another folder", {
      cause,
    });
  }
  return { release: () => db.close() };
}

/** Whether a sidecar has the state folder. @param file is there */
export function isLockHeld(file: string): boolean {
  try {
    holdLock(file, 0).release();
    return false;
  } catch {
    return true; // its only reason
  }
}
