/** Adds the names of a message's files, as JSON. */
export const SPOKEN_FILES_SCHEMA = "ALTER TABLE spoken ADD COLUMN files TEXT NOT NULL DEFAULT '[]';";

/** Adds where an agent that hears channels was handed over to, or is being handed over to, as JSON. */
export const HAND_OVER_SCHEMA = "ALTER TABLE main_agents ADD COLUMN hand_over TEXT;";

/** The tables of agents that hear channels: handles, what is said and heard, and which thread has a name. */
export const VOICE_SCHEMA = `
  CREATE TABLE handles (
    kind   TEXT NOT NULL CHECK (kind IN ('person', 'channel')),
    handle TEXT NOT NULL,
    id     TEXT NOT NULL,
    PRIMARY KEY (kind, handle),
    UNIQUE (kind, id)
  ) STRICT;
  CREATE TABLE spoken (
    message_id INTEGER PRIMARY KEY AUTOINCREMENT,
    thread_id  TEXT NOT NULL REFERENCES threads ON DELETE CASCADE,
    call_id    TEXT NOT NULL,
    turn       TEXT NOT NULL,
    address    TEXT,
    channel_id TEXT NOT NULL,
    reply_to   TEXT,
    text       TEXT NOT NULL,
    is_silent  INTEGER NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('queued', 'sending', 'sent', 'refused')),
    discord_id TEXT,
    reason     TEXT,
    created_at INTEGER NOT NULL,
    UNIQUE (thread_id, call_id)
  ) STRICT;
  CREATE INDEX spoken_open ON spoken (message_id) WHERE state IN ('queued', 'sending');
  CREATE INDEX spoken_of_thread ON spoken (thread_id, address, created_at);
  CREATE TABLE spoken_heard (
    thread_id  TEXT NOT NULL REFERENCES threads ON DELETE CASCADE,
    channel_id TEXT NOT NULL,
    person_id  TEXT NOT NULL,
    input_id   TEXT NOT NULL,
    heard_at   INTEGER NOT NULL,
    PRIMARY KEY (thread_id, channel_id, person_id)
  ) STRICT;
  CREATE TABLE main_agents (
    name      TEXT PRIMARY KEY,
    thread_id TEXT NOT NULL
  ) STRICT;
  `;
