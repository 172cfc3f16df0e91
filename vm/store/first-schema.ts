/** The schema of version 16, the first that was released. It is never changed. */
export const FIRST_SCHEMA = `
  CREATE TABLE threads (
    thread_id        TEXT PRIMARY KEY,
    type             TEXT NOT NULL CHECK (type IN ('terminal', 'agent')),
    dir              TEXT NOT NULL,
    path             TEXT NOT NULL,
    command          TEXT NOT NULL,
    title            TEXT NOT NULL,
    created_by       TEXT NOT NULL,
    created_at       INTEGER NOT NULL,
    status           TEXT NOT NULL CHECK (status IN ('running', 'idle', 'exited', 'killed', 'lost')),
    is_made          INTEGER NOT NULL DEFAULT 0,
    ended_at         INTEGER,
    exit_code        INTEGER,
    signal           TEXT,
    cols             INTEGER NOT NULL,
    rows             INTEGER NOT NULL,
    marker           TEXT NOT NULL,
    pane_id          TEXT NOT NULL DEFAULT '',
    pane_pid         INTEGER NOT NULL DEFAULT 0,
    tty              TEXT NOT NULL DEFAULT '',
    log_base         INTEGER NOT NULL DEFAULT 0,
    first_offset     INTEGER NOT NULL DEFAULT 0,
    held_small_until INTEGER
  ) STRICT;

  CREATE TABLE inputs (
    thread_id TEXT NOT NULL REFERENCES threads ON DELETE CASCADE,
    input_id  TEXT NOT NULL,
    is_sent   INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (thread_id, input_id)
  ) STRICT;

  CREATE TABLE homes (
    thread_id  TEXT PRIMARY KEY REFERENCES threads ON DELETE CASCADE,
    channel_id TEXT UNIQUE,
    after      TEXT
  ) STRICT;

  CREATE TABLE deliveries (
    thread_id TEXT PRIMARY KEY REFERENCES threads ON DELETE CASCADE,
    mark      TEXT NOT NULL
  ) STRICT;

  CREATE TABLE messages (
    thread_id  TEXT NOT NULL REFERENCES threads ON DELETE CASCADE,
    key        TEXT NOT NULL,
    message_id TEXT,
    after      TEXT,
    nonce      TEXT,
    PRIMARY KEY (thread_id, key),
    CHECK (message_id IS NOT NULL OR (after IS NOT NULL AND nonce IS NOT NULL))
  ) STRICT;

  CREATE TABLE kept_messages (
    thread_id  TEXT NOT NULL REFERENCES threads ON DELETE CASCADE,
    message_id TEXT NOT NULL,
    key        TEXT NOT NULL,
    PRIMARY KEY (thread_id, message_id)
  ) STRICT;

  CREATE TABLE channel_messages (
    channel_id TEXT NOT NULL,
    key        TEXT NOT NULL,
    message_id TEXT,
    after      TEXT,
    nonce      TEXT,
    PRIMARY KEY (channel_id, key),
    CHECK (message_id IS NOT NULL OR (after IS NOT NULL AND nonce IS NOT NULL))
  ) STRICT;

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
    problem          TEXT,
    is_locked        INTEGER NOT NULL DEFAULT 0,
    origin           TEXT,
    is_ending        INTEGER NOT NULL DEFAULT 0
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

  CREATE TABLE people (
    id     TEXT NOT NULL UNIQUE,
    role   TEXT NOT NULL,
    handle TEXT
  ) STRICT;

  CREATE TABLE channels (
    id     TEXT NOT NULL UNIQUE,
    dir    TEXT NOT NULL,
    mode   TEXT NOT NULL,
    engine TEXT,
    model  TEXT,
    limits TEXT NOT NULL,
    agent  TEXT
  ) STRICT;
  `;
