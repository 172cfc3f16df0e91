/** The one connection to SQLite: opened, brought up to date, shared by the tables. */
import { closeSync, openSync } from "node:fs";
import Sqlite from "better-sqlite3";
import { AppError } from "../../shared/errors.ts";
import { migrate, refuseUnknown } from "./migrations.ts";

const RESERVED_BYTES = 512 * 1024;
/** How long a statement waits for another process that holds the database. Nothing else runs meanwhile. */
const BUSY_TIMEOUT_MS = 500;

/** A statement of a table. @throws AppError `unavailable` if another process holds the database. */
export interface Statement {
  run(...values: unknown[]): Sqlite.RunResult;
  get(...values: unknown[]): unknown;
  all(...values: unknown[]): unknown[];
}

export class Database {
  readonly #file: string;
  readonly #db: Sqlite.Database;
  readonly #rollbackListeners: (() => void)[] = [];
  /** Another process holds the database: nobody waits for it again until something could be written. */
  #isHeld = false;

  /**
   * Opens or makes the database; `:memory:` for one that is not kept.
   * @throws Error if a newer threadmux has written it, or if it is damaged.
   */
  constructor(file: string) {
    this.#file = file;
    if (file !== ":memory:") makePrivate(file);
    this.#db = new Sqlite(file);
    try {
      this.#db.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`);
      refuseUnknown(this.#db);
      this.#db.pragma("journal_mode = WAL");
      this.#db.pragma("synchronous = NORMAL");
      this.#db.pragma("foreign_keys = ON");
      refuseDamaged(this.#db, file);
      migrate(this.#db);
      reserveRoom(this.#db);
    } catch (error) {
      this.#db.close();
      throw this.#explained(error);
    }
  }

  /** For statements that are run again and again: each table prepares its own, once. */
  prepare(sql: string): Statement {
    const statement = this.#db.prepare(sql);
    return {
      run: (...values) => {
        const result = this.#try(() => statement.run(...values));
        if (this.#isHeld) this.#setHeld(false);
        return result;
      },
      get: (...values) => this.#try(() => statement.get(...values)),
      all: (...values) => this.#try(() => statement.all(...values)),
    };
  }

  /** All of `work` or nothing. A transaction within a transaction belongs to the outer one. */
  transaction<T>(work: () => T): T {
    try {
      return this.#try(() => this.#db.transaction(work)());
    } catch (error) {
      for (const listener of this.#rollbackListeners) listener();
      throw error;
    }
  }

  /**
   * A transaction of which a loss of power takes nothing once this returns. All others may lose what was last, not
   * more: the disk is waited for only here.
   */
  durably<T>(work: () => T): T {
    this.#db.pragma("synchronous = FULL");
    try {
      return this.transaction(work);
    } finally {
      this.#db.pragma("synchronous = NORMAL");
    }
  }

  #try<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw this.#explained(error);
    }
  }

  /** What SQLite says, in words for a person where there is something that a person can do. */
  #explained(error: unknown): unknown {
    const { code = "" } = error as { code?: string };
    if (!/^SQLITE_(BUSY|LOCKED)/.test(code)) return explained(error, this.#file);
    if (!this.#isHeld && this.#db.open) this.#setHeld(true);
    return new AppError("unavailable", "Another process holds the sidecar's database; try again.", {
      cause: error,
    });
  }

  #setHeld(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.#db.pragma(`busy_timeout = ${isHeld ? 0 : BUSY_TIMEOUT_MS}`);
  }

  /** A table that keeps rows in memory reads them again when a transaction has failed: nothing of it has happened. */
  onRollback(listener: () => void): void {
    this.#rollbackListeners.push(listener);
  }

  close(): void {
    this.#db.close();
  }
}

/**
 * Whether {@link Database} would open it; it is not changed.
 * @throws Error as that would
 */
export function checkDatabase(file: string): void {
  const db = new Sqlite(file, { readonly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    refuseUnknown(db);
    refuseDamaged(db, file);
  } catch (error) {
    throw explained(error, file);
  } finally {
    db.close();
  }
}

function refuseDamaged(db: Sqlite.Database, file: string): void {
  const found = db.pragma("quick_check(1)", { simple: true });
  if (found !== "ok") throw damaged(file, String(found));
}

/** The error itself, or, if SQLite tells of damage, an error in words for a person. */
function explained(error: unknown, file: string): unknown {
  const { code = "", message = "" } = error as { code?: string; message?: string };
  return /^SQLITE_(CORRUPT|NOTADB)/.test(code) ? damaged(file, message) : error;
}

/** @param what a short account of the damage. */
export function damaged(file: string, what: string): Error {
  return new Error(
    `the database ${file} is damaged (${what}). Put a copy of it back; or move it away, with ${file}-wal and ` +
      `${file}-shm, and start once with --adopt: the threads that run go on as terminals`,
  );
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
