/** Copies of a database that others write meanwhile. */
import Sqlite from "better-sqlite3";
import { knownThreadId, type ThreadId } from "../../shared/ids.ts";
import { kindOf, type ThreadType } from "../../shared/kinds.ts";
import { makePrivate } from "./database.ts";

const BUSY_TIMEOUT_MS = 5_000;
const ALL_PAGES = 0x7fff_ffff;

/** Where a thread's log begins, as its row says. */
export interface LogStart {
  threadId: ThreadId;
  hasTurns: boolean;
  /** The offset of the file's first byte. */
  logBase: number;
  /** Bytes before it were given back to the disk. */
  firstOffset: number;
}

/**
 * All of the database at one moment. In one step: a change in between would begin the copy anew, and a busy sidecar
 * changes something all the time. Nobody waits for it, since readers hold up no writer.
 * @returns the version of its schema
 */
export async function copyDatabase(file: string, to: string): Promise<number> {
  makePrivate(to);
  const db = new Sqlite(file, { readonly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    await db.backup(to, { progress: () => ALL_PAGES });
  } finally {
    db.close();
  }
  return versionOf(to);
}

function versionOf(file: string): number {
  const db = new Sqlite(file, { readonly: true });
  try {
    return db.pragma("user_version", { simple: true }) as number;
  } finally {
    db.close();
  }
}

/** Lists where the logs of all threads that were begun start. */
export function listLogStarts(file: string): LogStart[] {
  const db = new Sqlite(file, { readonly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    const rows = db
      .prepare("SELECT thread_id, type, log_base, first_offset FROM threads WHERE is_made = 1")
      .all() as { thread_id: string; type: ThreadType; log_base: number; first_offset: number }[];
    return rows.map((row) => ({
      threadId: knownThreadId.parse(row.thread_id),
      hasTurns: kindOf(row).hasTurns,
      logBase: row.log_base,
      firstOffset: row.first_offset,
    }));
  } finally {
    db.close();
  }
}

/** Writes into a copy that logs begin later than their rows say. */
export function setFirstOffsets(copy: string, starts: readonly LogStart[]): void {
  const db = new Sqlite(copy);
  try {
    const set = db.prepare("UPDATE threads SET first_offset = ? WHERE thread_id = ?");
    db.transaction(() => {
      for (const { threadId, firstOffset } of starts) set.run(firstOffset, threadId);
    })();
  } finally {
    db.close();
  }
}

/** Writes other markers into a copy: no process that runs is of its threads. */
export function renewMarkers(copy: string, newMarker: () => string): void {
  const db = new Sqlite(copy);
  try {
    const ids = db.prepare("SELECT thread_id FROM threads").pluck().all();
    const set = db.prepare("UPDATE threads SET marker = ? WHERE thread_id = ?");
    db.transaction(() => {
      for (const id of ids) set.run(newMarker(), id);
    })();
  } finally {
    db.close();
  }
}
