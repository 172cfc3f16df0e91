/** The one connection to SQLite: opened, brought up to date, shared by the tables. */
import { closeSync, openSync } from "node:fs";
import Sqlite from "better-sqlite3";
import { migrate, refuseNewer } from "./migrations.ts";

const RESERVED_BYTES = 512 * 1024;

export class Database {
  readonly #db: Sqlite.Database;
  readonly #rollbackListeners: (() => void)[] = [];

  /**
   * Opens or makes the database; `:memory:` for one that is not kept.
   * @throws Error if a newer threadmux has written it.
   */
  constructor(file: string) {
    if (file !== ":memory:") makePrivate(file);
    this.#db = new Sqlite(file);
    try {
      refuseNewer(this.#db);
      this.#db.pragma("journal_mode = WAL");
      this.#db.pragma("foreign_keys = ON");
      this.#db.pragma("busy_timeout = 5000");
      migrate(this.#db);
      reserveRoom(this.#db);
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  /** For statements that are run again and again: each table prepares its own, once. */
  prepare(sql: string): Sqlite.Statement {
    return this.#db.prepare(sql);
  }

  /** All of `work` or nothing. A transaction within a transaction belongs to the outer one. */
  transaction<T>(work: () => T): T {
    try {
      return this.#db.transaction(work)();
    } catch (error) {
      for (const listener of this.#rollbackListeners) listener();
      throw error;
    }
  }

  /** A table that keeps rows in memory reads them again when a transaction has failed: nothing of it has happened. */
  onRollback(listener: () => void): void {
    this.#rollbackListeners.push(listener);
  }

  close(): void {
    this.#db.close();
  }
}

/** SQLite would make the file readable by others. Its companions (-wal, -shm) get the mode of the file. */
export function makePrivate(file: string): void {
  closeSync(openSync(file, "a", 0o600));
}

/**
 * The database and its write-ahead log keep some room on the disk: what ends, and what is typed, can be noted also
 * when the disk is full.
 */
function reserveRoom(db: Sqlite.Database): void {
  try {
    db.exec("DROP TABLE IF EXISTS reserve"); // of a start that was cut off
    // In two steps: what is made and dropped in one transaction is never written.
    db.exec(`CREATE TABLE reserve AS SELECT zeroblob(${RESERVED_BYTES}) AS bytes`);
    db.exec("DROP TABLE reserve");
    db.pragma("wal_checkpoint(RESTART)"); // the log's file keeps its length and is written from its start again
  } catch (error) {
    if ((error as { code?: string }).code !== "SQLITE_FULL") throw error; // the disk is full already: do without
  }
}
