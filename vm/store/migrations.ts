/** The database's schema, one entry a version; an entry is never changed once it has been released. */
import type Database from "better-sqlite3";
import { FIRST_SCHEMA } from "./first-schema.ts";
import { ROOM_SCHEMA } from "./room-schema.ts";
import { HAND_OVER_SCHEMA, SPOKEN_FILES_SCHEMA, VOICE_SCHEMA } from "./voice-schema.ts";

/** The version that the first entry makes. Those before it were never released. */
const FIRST_VERSION = 16;

const MIGRATIONS: readonly string[] = [
  FIRST_SCHEMA,
  `
  ALTER TABLE threads ADD COLUMN follows TEXT;
  `,
  `
  CREATE TABLE hook_requests (
    hook        TEXT NOT NULL,
    delivery_id TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    known_until INTEGER NOT NULL,
    group_key   TEXT NOT NULL,
    outcome     TEXT NOT NULL CHECK (outcome IN ('taken', 'filtered')),
    bytes       INTEGER NOT NULL,
    body        BLOB,
    PRIMARY KEY (hook, delivery_id)
  ) STRICT;
  CREATE INDEX hook_requests_waiting ON hook_requests (hook, received_at, bytes) WHERE body IS NOT NULL;
  CREATE INDEX hook_requests_known ON hook_requests (known_until);
  `,
  `
  CREATE TABLE served_channels (
    id              TEXT NOT NULL,
    is_fixed        INTEGER NOT NULL,
    dir             TEXT NOT NULL,
    mode            TEXT NOT NULL,
    engine          TEXT,
    model           TEXT,
    permission_mode TEXT,
    limits          TEXT NOT NULL,
    worktree        INTEGER NOT NULL,
    agent           TEXT,
    name            TEXT,
    problem         TEXT,
    PRIMARY KEY (id, is_fixed)
  ) STRICT;
  INSERT INTO served_channels (id, is_fixed, dir, mode, engine, model, limits, worktree, agent)
    SELECT id, 1, dir, mode, engine, model, limits, 0, agent FROM channels;
  DROP TABLE channels;
  ALTER TABLE homes ADD COLUMN parent_id TEXT;
  `,
  `
  CREATE TABLE jobs (
    job_id     INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT NOT NULL UNIQUE,
    settings   TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('active', 'paused', 'over')),
    why        TEXT,
    next_due   INTEGER,
    period     INTEGER NOT NULL DEFAULT 0,
    by_hand    INTEGER NOT NULL DEFAULT 0,
    thread_id  TEXT
  ) STRICT;
  CREATE INDEX jobs_due ON jobs (next_due) WHERE state = 'active';

  CREATE TABLE job_runs (
    run        TEXT PRIMARY KEY,
    job_id     INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
    due        INTEGER,
    status     TEXT NOT NULL CHECK
      (status IN ('claimed', 'started', 'done', 'failed', 'skipped', 'missed', 'unknown')),
    reason     TEXT,
    by         TEXT NOT NULL,
    claimed_at INTEGER NOT NULL,
    begun_at   INTEGER,
    ended_at   INTEGER,
    thread_id  TEXT,
    cost_usd   REAL,
    cost_before REAL NOT NULL DEFAULT 0,
    calls_before INTEGER NOT NULL DEFAULT 0,
    missed     INTEGER NOT NULL DEFAULT 0,
    output     TEXT,
    body       TEXT,
    UNIQUE (job_id, due)
  ) STRICT;
  CREATE INDEX job_runs_open ON job_runs (status) WHERE status IN ('claimed', 'started');
  CREATE INDEX job_runs_of_job ON job_runs (job_id, claimed_at);
  `,
  `
  ALTER TABLE threads ADD COLUMN name TEXT NOT NULL DEFAULT '';
  UPDATE threads SET name = type || '-' || rowid;
  CREATE UNIQUE INDEX threads_name ON threads (name);
  CREATE TABLE thread_names (
    prefix TEXT PRIMARY KEY,
    newest INTEGER NOT NULL
  ) STRICT;
  `,
  `
  ALTER TABLE served_channels ADD COLUMN directive TEXT;
  `,
  `
  CREATE TABLE memory_writes (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    write_id    TEXT NOT NULL UNIQUE,
    folder      TEXT NOT NULL,
    name        TEXT NOT NULL,
    how         TEXT NOT NULL CHECK (how IN ('append', 'replace', 'remove', 'restore')),
    text        TEXT,
    by          TEXT NOT NULL,
    thread_id   TEXT,
    at          INTEGER NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('waiting', 'writing', 'written', 'refused', 'failed')),
    before      TEXT,
    before_hash TEXT,
    after_hash  TEXT,
    undoes      TEXT,
    decided_by  TEXT
  ) STRICT;
  CREATE INDEX memory_writes_of_file ON memory_writes (folder, name, seq);
  CREATE INDEX memory_writes_of_thread ON memory_writes (thread_id, at) WHERE thread_id IS NOT NULL;
  CREATE INDEX memory_writes_open ON memory_writes (state) WHERE state IN ('waiting', 'writing');
  `,
  `
  CREATE TABLE thread_budgets (
    thread_id TEXT PRIMARY KEY REFERENCES threads ON DELETE CASCADE,
    budget    TEXT NOT NULL,
    told      TEXT NOT NULL DEFAULT '{}'
  ) STRICT;
  `,
  `
  CREATE TABLE job_news (
    news_id INTEGER PRIMARY KEY AUTOINCREMENT,
    key     TEXT NOT NULL UNIQUE,
    job     TEXT NOT NULL,
    kind    TEXT NOT NULL,
    text    TEXT NOT NULL,
    output  TEXT,
    report  TEXT,
    at      INTEGER NOT NULL,
    is_told INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX job_news_untold ON job_news (news_id) WHERE is_told = 0;
  `,
  `
  ALTER TABLE job_runs ADD COLUMN report_ok INTEGER;
  ALTER TABLE job_runs ADD COLUMN report TEXT;
  CREATE INDEX job_runs_of_thread ON job_runs (thread_id) WHERE thread_id IS NOT NULL;
  `,
  VOICE_SCHEMA,
  `
  CREATE TABLE grants (
    kind       TEXT NOT NULL CHECK (kind IN ('user', 'role')),
    id         TEXT NOT NULL,
    channel_id TEXT NOT NULL,
    role       TEXT NOT NULL,
    is_fixed   INTEGER NOT NULL,
    PRIMARY KEY (kind, id, channel_id, is_fixed)
  ) STRICT;
  INSERT INTO grants (kind, id, channel_id, role, is_fixed) SELECT 'user', id, '', 'owner', 1 FROM people;
  ALTER TABLE people DROP COLUMN role;
  ALTER TABLE people ADD COLUMN roles TEXT NOT NULL DEFAULT '[]';
  `,
  `
  ALTER TABLE events ADD COLUMN causes TEXT;
  ALTER TABLE job_runs ADD COLUMN causes TEXT NOT NULL DEFAULT '';
  CREATE INDEX jobs_of_events ON jobs (job_id)
    WHERE state = 'active' AND json_extract(settings, '$.when.type') = 'event';
  CREATE TABLE job_events_read (event_id INTEGER NOT NULL) STRICT;
  INSERT INTO job_events_read (event_id) VALUES (0);
  `,
  // With its column goes the check that knew two kinds: those are the house's to know, not the database's.
  `
  ALTER TABLE threads ADD COLUMN kind TEXT NOT NULL DEFAULT '';
  UPDATE threads SET kind = type;
  ALTER TABLE threads DROP COLUMN type;
  ALTER TABLE threads RENAME COLUMN kind TO type;
  `,
  `
  ALTER TABLE jobs ADD COLUMN notice TEXT;
  CREATE INDEX jobs_of_input ON jobs (json_extract(settings, '$.what.threadId'));
  `,
  ROOM_SCHEMA,
  SPOKEN_FILES_SCHEMA,
  `
  CREATE TABLE server_roles (
    id     TEXT NOT NULL UNIQUE,
    handle TEXT
  ) STRICT;
  `,
  "ALTER TABLE job_news ADD COLUMN count INTEGER NOT NULL DEFAULT 1",
  `
  ALTER TABLE steps ADD COLUMN usd REAL;
  CREATE INDEX steps_of_day ON steps (thread_id, ended_at) WHERE kind = 'turn';
  `,
  HAND_OVER_SCHEMA,
  "ALTER TABLE jobs ADD COLUMN attended_at INTEGER NOT NULL DEFAULT 0",
];

export const NEWEST_VERSION = FIRST_VERSION + MIGRATIONS.length - 1;

/** @throws Error if the database is of a version that this threadmux does not know. It is not changed. */
export function refuseUnknown(db: Database.Database): void {
  const version = versionOf(db);
  if (version === 0) return; // a new one
  if (version > NEWEST_VERSION)
    throw new Error(
      `the database is of version ${version}, this threadmux knows ${NEWEST_VERSION}: run the newer one`,
    );
  if (version < FIRST_VERSION)
    throw new Error(
      `the database is of version ${version}, which was never released: move STATE_DIR away, and start anew`,
    );
}

/** Brings the database up to date, each step in its own transaction; `user_version` says which were made. */
export function migrate(db: Database.Database): void {
  const version = versionOf(db);
  for (const [i, sql] of MIGRATIONS.entries()) {
    if (FIRST_VERSION + i <= version) continue;
    db.transaction(() => {
      db.exec(sql);
      db.pragma(`user_version = ${FIRST_VERSION + i}`);
    })();
  }
}

function versionOf(db: Database.Database): number {
  return db.pragma("user_version", { simple: true }) as number;
}
