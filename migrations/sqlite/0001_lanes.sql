-- Times are integer milliseconds since 1970-01-01 UTC. Needs SQLite 3.37 or later (STRICT).
-- Tables with messages are rowid tables on purpose: a b-tree that keeps whole rows as its keys reads
-- the payloads of all rows it compares on the way down.

-- The number of the last message saved. A writer draws from it in its own transaction.
CREATE TABLE outbox_position (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  last INTEGER NOT NULL CHECK (last >= 0)
) STRICT;

INSERT INTO outbox_position (one, last) VALUES (1, 0);

-- Eight hash buckets of ordering keys; (epoch, holder) is the token of a lease.
CREATE TABLE outbox_lane (
  lane INTEGER PRIMARY KEY CHECK (lane BETWEEN 0 AND 7),
  epoch INTEGER NOT NULL DEFAULT 0,
  holder TEXT,
  relay TEXT,
  lease_until INTEGER NOT NULL DEFAULT 0,
  -- Grows with each service: the lane served least recently comes first.
  turn INTEGER NOT NULL DEFAULT 0,
  -- How many messages must still complete one after another, since a holder vanished.
  careful INTEGER NOT NULL DEFAULT 0 CHECK (careful >= 0),
  -- All rows of the line up to this position are of the key that heads it.
  ahead INTEGER NOT NULL DEFAULT 0
) STRICT;

INSERT INTO outbox_lane (lane) VALUES (0), (1), (2), (3), (4), (5), (6), (7);

-- The ready line: runnable messages. The lane of a message with a key is the first byte of
-- SHA-256(topic, 0x1F, key) modulo 8; without a key it is any. Headers are a JSON array of
-- [name, value] pairs, or NULL. Names and values have at most 65536 bytes together, which relays
-- check; their JSON can be sixteen times as long (65536 pairs of a name that is escaped as \u0022
-- and an empty value, with spaces after the commas).
CREATE TABLE outbox_message (
  position INTEGER PRIMARY KEY CHECK (position > 0),
  lane INTEGER NOT NULL CHECK (lane BETWEEN 0 AND 7),
  id TEXT NOT NULL CHECK (length(CAST(id AS BLOB)) BETWEEN 1 AND 255 AND instr(id, char(0)) = 0),
  topic TEXT NOT NULL CHECK (
    length(CAST(topic AS BLOB)) BETWEEN 1 AND 255
    AND instr(topic, char(0)) = 0
    AND topic NOT GLOB ('*[' || char(1) || '-' || char(31) || char(127) || '-' || char(159) || ']*')
  ),
  key TEXT CHECK (length(CAST(key AS BLOB)) BETWEEN 1 AND 1024 AND instr(key, char(0)) = 0),
  headers TEXT CHECK (length(CAST(headers AS BLOB)) <= 1048576),
  content_type TEXT CHECK (
    length(CAST(content_type AS BLOB)) BETWEEN 1 AND 255 AND instr(content_type, char(0)) = 0
  ),
  attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts BETWEEN 0 AND 4294967295),
  tries INTEGER NOT NULL DEFAULT 0 CHECK (tries BETWEEN 0 AND 4294967295),
  error TEXT,
  saved_at INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)),
  payload BLOB NOT NULL CHECK (length(payload) <= 67108864)
) STRICT;

CREATE INDEX outbox_message_lane ON outbox_message (lane);

-- Messages for later that were never tried, and retries of messages without a key.
CREATE TABLE outbox_scheduled (
  position INTEGER PRIMARY KEY CHECK (position > 0),
  lane INTEGER NOT NULL CHECK (lane BETWEEN 0 AND 7),
  id TEXT NOT NULL CHECK (length(CAST(id AS BLOB)) BETWEEN 1 AND 255 AND instr(id, char(0)) = 0),
  topic TEXT NOT NULL CHECK (
    length(CAST(topic AS BLOB)) BETWEEN 1 AND 255
    AND instr(topic, char(0)) = 0
    AND topic NOT GLOB ('*[' || char(1) || '-' || char(31) || char(127) || '-' || char(159) || ']*')
  ),
  key TEXT CHECK (length(CAST(key AS BLOB)) BETWEEN 1 AND 1024 AND instr(key, char(0)) = 0),
  headers TEXT CHECK (length(CAST(headers AS BLOB)) <= 1048576),
  content_type TEXT CHECK (
    length(CAST(content_type AS BLOB)) BETWEEN 1 AND 255 AND instr(content_type, char(0)) = 0
  ),
  attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts BETWEEN 0 AND 4294967295),
  tries INTEGER NOT NULL DEFAULT 0 CHECK (tries BETWEEN 0 AND 4294967295),
  error TEXT,
  saved_at INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)),
  due_at INTEGER NOT NULL,
  payload BLOB NOT NULL CHECK (length(payload) <= 67108864)
) STRICT;

CREATE INDEX outbox_scheduled_due ON outbox_scheduled (lane, due_at);

-- The messages of keys whose head waits, head included. Rows come from outbox_message only.
CREATE TABLE outbox_waiting (
  position INTEGER PRIMARY KEY,
  lane INTEGER NOT NULL,
  id TEXT NOT NULL,
  topic TEXT NOT NULL,
  key TEXT NOT NULL,
  headers TEXT,
  content_type TEXT,
  attempts INTEGER NOT NULL,
  tries INTEGER NOT NULL,
  error TEXT,
  saved_at INTEGER NOT NULL,
  payload BLOB NOT NULL
) STRICT;

CREATE INDEX outbox_waiting_key ON outbox_waiting (topic, key);

-- One row for each key whose head waits. A dead letter holds its key until the largest integer.
CREATE TABLE outbox_blocked_key (
  number INTEGER PRIMARY KEY,
  lane INTEGER NOT NULL,
  topic TEXT NOT NULL,
  key TEXT NOT NULL,
  until INTEGER NOT NULL,
  reason TEXT NOT NULL CHECK (reason IN ('retry', 'dead', 'busy')),
  -- The position it waits for.
  position INTEGER NOT NULL,
  UNIQUE (topic, key)
) STRICT;

CREATE INDEX outbox_blocked_key_until ON outbox_blocked_key (lane, until);
CREATE INDEX outbox_blocked_key_position ON outbox_blocked_key (position);

-- Dead letters, as they were, readable or not.
CREATE TABLE outbox_dead (
  position INTEGER PRIMARY KEY,
  lane INTEGER NOT NULL,
  id TEXT NOT NULL,
  topic TEXT NOT NULL,
  key TEXT,
  headers TEXT,
  content_type TEXT,
  attempts INTEGER NOT NULL,
  tries INTEGER NOT NULL,
  error TEXT,
  saved_at INTEGER NOT NULL,
  died_at INTEGER NOT NULL,
  reason TEXT NOT NULL,
  after TEXT NOT NULL CHECK (after IN ('skip', 'hold')),
  payload BLOB NOT NULL
) STRICT;

CREATE INDEX outbox_dead_id ON outbox_dead (id);
CREATE INDEX outbox_dead_key ON outbox_dead (topic, key);

-- The ids of idempotent saves, as long as they are remembered.
CREATE TABLE outbox_saved_id (
  id TEXT PRIMARY KEY CHECK (length(CAST(id AS BLOB)) BETWEEN 1 AND 255),
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX outbox_saved_id_expires ON outbox_saved_id (expires_at);

-- Hand-overs in careful service whose end is not known.
CREATE TABLE outbox_start_mark (
  lane INTEGER NOT NULL,
  position INTEGER NOT NULL,
  holder TEXT NOT NULL,
  id TEXT,
  PRIMARY KEY (lane, position, holder)
) STRICT, WITHOUT ROWID;

-- Open circuits, written at each change, for people. Claims never read it.
CREATE TABLE outbox_destination_state (
  destination TEXT NOT NULL,
  relay TEXT NOT NULL,
  open_since INTEGER NOT NULL,
  next_probe INTEGER NOT NULL,
  error TEXT NOT NULL,
  PRIMARY KEY (destination, relay)
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox_schema_version (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  version INTEGER NOT NULL
) STRICT;

INSERT INTO outbox_schema_version (one, version) VALUES (1, 1);
