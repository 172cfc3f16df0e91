/** The database's schema, one entry a version; entries are never changed once they have been released. */
import type Database from "better-sqlite3";

const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE threads (
    thread_id     TEXT PRIMARY KEY,
    type          TEXT NOT NULL CHECK (type IN ('terminal', 'agent')),
    dir           TEXT NOT NULL,
    path          TEXT NOT NULL,
    command       TEXT NOT NULL,
    created_by    TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    status        TEXT NOT NULL CHECK (status IN ('running', 'idle', 'exited', 'killed', 'lost')),
    is_made       INTEGER NOT NULL DEFAULT 0,
    ended_at      INTEGER,
    exit_code     INTEGER,
    signal        TEXT,
    cols          INTEGER NOT NULL,
    rows          INTEGER NOT NULL,
    marker        TEXT NOT NULL,
    pane_id       TEXT NOT NULL DEFAULT '',
    pane_pid      INTEGER NOT NULL DEFAULT 0,
    tty           TEXT NOT NULL DEFAULT '',
    agent_session TEXT
  ) STRICT;

  CREATE TABLE turns (
    thread_id  TEXT NOT NULL REFERENCES threads ON DELETE CASCADE,
    seq        INTEGER NOT NULL,
    text       TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('waiting', 'starting', 'running', 'done')),
    exit_code  INTEGER,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (thread_id, seq)
  ) STRICT;
  `,
  `
  CREATE TABLE deliveries (
    thread_id TEXT PRIMARY KEY REFERENCES threads ON DELETE CASCADE,
    mark      TEXT NOT NULL
  ) STRICT;

  CREATE TABLE inputs (
    thread_id TEXT NOT NULL REFERENCES threads ON DELETE CASCADE,
    input_id  TEXT NOT NULL,
    is_sent   INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (thread_id, input_id)
  ) STRICT;
  `,
  `
  ALTER TABLE threads ADD COLUMN log_base INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE threads ADD COLUMN first_offset INTEGER NOT NULL DEFAULT 0;
  `,
  `
  CREATE TABLE messages (
    thread_id  TEXT NOT NULL REFERENCES threads ON DELETE CASCADE,
    key        TEXT NOT NULL,
    message_id TEXT,
    after      TEXT,
    nonce      TEXT,
    PRIMARY KEY (thread_id, key),
    CHECK (message_id IS NOT NULL OR (after IS NOT NULL AND nonce IS NOT NULL))
  ) STRICT;
  `,
  `ALTER TABLE threads ADD COLUMN title TEXT NOT NULL DEFAULT ''`,
  `
  CREATE TABLE agent_numbers (number INTEGER PRIMARY KEY AUTOINCREMENT) STRICT;

  CREATE TABLE agents (
    thread_id        TEXT PRIMARY KEY REFERENCES threads ON DELETE CASCADE,
    number           INTEGER NOT NULL UNIQUE,
    status           TEXT NOT NULL,
    awaiting         TEXT,
    turn_count       INTEGER NOT NULL DEFAULT 0,
    transcript_bytes INTEGER NOT NULL DEFAULT 0,
    fold             TEXT NOT NULL,
    run              INTEGER NOT NULL DEFAULT 0,
    started_at_bytes INTEGER NOT NULL DEFAULT 0,
    starts_in_vain   INTEGER NOT NULL DEFAULT 0,
    problem          TEXT
  ) STRICT;

  CREATE TABLE steps (
    thread_id   TEXT NOT NULL REFERENCES threads ON DELETE CASCADE,
    kind        TEXT NOT NULL,
    step_id     TEXT NOT NULL,
    seq         INTEGER NOT NULL,
    status      TEXT NOT NULL,
    title       TEXT,
    started_at  TEXT,
    ended_at    TEXT,
    duration_ms REAL,
    reason      TEXT,
    model       TEXT,
    tokens      INTEGER,
    PRIMARY KEY (thread_id, kind, step_id)
  ) STRICT;

  CREATE TABLE asks (
    thread_id  TEXT NOT NULL REFERENCES threads ON DELETE CASCADE,
    request_id TEXT NOT NULL,
    ask        TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('open', 'answered', 'ended')),
    PRIMARY KEY (thread_id, request_id)
  ) STRICT;
  `,
  `
  CREATE TABLE channel_messages (
    channel_id TEXT NOT NULL,
    key        TEXT NOT NULL,
    message_id TEXT,
    after      TEXT,
    nonce      TEXT,
    PRIMARY KEY (channel_id, key),
    CHECK (message_id IS NOT NULL OR (after IS NOT NULL AND nonce IS NOT NULL))
  ) STRICT;
  `,
  `
  CREATE TABLE kept_messages (
    thread_id  TEXT NOT NULL REFERENCES threads ON DELETE CASCADE,
    message_id TEXT NOT NULL,
    key        TEXT NOT NULL,
    PRIMARY KEY (thread_id, message_id)
  ) STRICT;

  INSERT INTO kept_messages (thread_id, message_id, key)
    SELECT thread_id, message_id, key FROM messages WHERE message_id IS NOT NULL;
  `,
  `ALTER TABLE threads ADD COLUMN held_small_until INTEGER;`,
  `
  ALTER TABLE agents ADD COLUMN is_locked INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE agents ADD COLUMN origin TEXT;
  `,
  `
  CREATE TABLE events (
    event_id  INTEGER PRIMARY KEY AUTOINCREMENT,
    thread_id TEXT NOT NULL,
    type      TEXT NOT NULL,
    byte      INTEGER,
    bytes     INTEGER,
    body      TEXT,
    CHECK ((byte IS NULL) = (bytes IS NULL) AND (byte IS NULL) = (body IS NOT NULL))
  ) STRICT;
  CREATE INDEX events_of_thread ON events (thread_id);
  INSERT INTO sqlite_sequence (name, seq) VALUES ('events', 0);

  CREATE TABLE event_floor (event_id INTEGER NOT NULL) STRICT;
  INSERT INTO event_floor (event_id) VALUES (0);
  `,
  `
  CREATE TABLE homes (
    thread_id  TEXT PRIMARY KEY REFERENCES threads ON DELETE CASCADE,
    channel_id TEXT UNIQUE,
    after      TEXT
  ) STRICT;
  `,
  `ALTER TABLE agents ADD COLUMN is_ending INTEGER NOT NULL DEFAULT 0;`,
];

/** @throws Error where the database was written by a newer threadmux. It is not changed. */
export function refuseNewer(db: Database.Database): void {
  const version = versionOf(db);
  if (version <= MIGRATIONS.length) return;
  throw new Error(
    `the database is of version ${version}, this threadmux knows ${MIGRATIONS.length}: run the newer one`,
  );
}

/** Brings the database up to date, each step in its own transaction; `user_version` counts them. */
export function migrate(db: Database.Database): void {
  const version = versionOf(db);
  for (const [i, sql] of MIGRATIONS.entries()) {
    if (i < version) continue;
    db.transaction(() => {
      db.exec(sql);
      db.pragma(`user_version = ${i + 1}`);
    })();
  }
}

function versionOf(db: Database.Database): number {
  return db.pragma("user_version", { simple: true }) as number;
}
