/** The tables of rooms: whose turn it is, who is in them, and what was said. */
export const ROOM_SCHEMA = `
  CREATE TABLE rooms (
    thread_id    TEXT PRIMARY KEY REFERENCES threads ON DELETE CASCADE,
    protocol     TEXT NOT NULL,
    lead         TEXT,
    max_turns    INTEGER,
    max_usd      REAL,
    turn_seconds INTEGER NOT NULL,
    turn         TEXT NOT NULL,
    turn_since   INTEGER,
    interrupts   TEXT NOT NULL DEFAULT '[]'
  ) STRICT;
  CREATE TABLE room_members (
    thread_id  TEXT NOT NULL REFERENCES rooms ON DELETE CASCADE,
    name       TEXT NOT NULL,
    member_id  TEXT NOT NULL,
    number     INTEGER,
    directive  TEXT,
    position   INTEGER NOT NULL,
    is_there   INTEGER NOT NULL DEFAULT 1,
    heard      INTEGER NOT NULL,
    asked_turn INTEGER NOT NULL DEFAULT 0,
    last_id    TEXT,
    base_usd   REAL NOT NULL,
    PRIMARY KEY (thread_id, name)
  ) STRICT;
  CREATE UNIQUE INDEX room_of_member ON room_members (member_id) WHERE is_there = 1;
  CREATE TABLE room_lines (
    thread_id TEXT NOT NULL REFERENCES rooms ON DELETE CASCADE,
    seq       INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    kind      TEXT NOT NULL CHECK (kind IN ('text', 'person', 'note', 'pass', 'call')),
    name      TEXT,
    number    INTEGER,
    text      TEXT NOT NULL,
    key       TEXT,
    marks     TEXT,
    log_end   INTEGER NOT NULL,
    PRIMARY KEY (thread_id, seq),
    UNIQUE (thread_id, key)
  ) STRICT;
  `;
