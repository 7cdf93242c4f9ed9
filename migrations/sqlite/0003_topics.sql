-- Topics that are stopped: paused by an operator, or because relays say that their destination is down.
CREATE TABLE outbox_topic_state (
  topic TEXT PRIMARY KEY CHECK (length(CAST(topic AS BLOB)) BETWEEN 1 AND 255),
  cause TEXT NOT NULL CHECK (cause IN ('paused', 'destination')),
  stopped_at INTEGER NOT NULL,
  -- The largest integer until it is resumed, 0 when it was ended. A row that is over goes once all that it set aside is free.
  until INTEGER NOT NULL,
  destination TEXT,
  relay TEXT,
  error TEXT,
  -- The message that is let through, and the lane of the last one that was.
  probe INTEGER,
  probe_lane INTEGER
) STRICT, WITHOUT ROWID;

-- A key may be blocked because its topic is stopped, until the largest integer. The check of a column cannot be changed.
CREATE TABLE outbox_blocked_key_3 (
  number INTEGER PRIMARY KEY,
  lane INTEGER NOT NULL,
  topic TEXT NOT NULL,
  key TEXT NOT NULL,
  until INTEGER NOT NULL,
  reason TEXT NOT NULL CHECK (reason IN ('retry', 'dead', 'busy', 'topic')),
  -- The position it waits for.
  position INTEGER NOT NULL,
  UNIQUE (topic, key)
) STRICT;

INSERT INTO outbox_blocked_key_3 (number, lane, topic, key, until, reason, position)
SELECT number, lane, topic, key, until, reason, position
FROM outbox_blocked_key;

DROP TABLE outbox_blocked_key;
ALTER TABLE outbox_blocked_key_3 RENAME TO outbox_blocked_key;

CREATE INDEX outbox_blocked_key_until ON outbox_blocked_key (lane, until);
CREATE INDEX outbox_blocked_key_position ON outbox_blocked_key (position);
CREATE INDEX outbox_blocked_key_topic ON outbox_blocked_key (topic, lane) WHERE reason = 'topic';

-- A message without a key that a stop set aside is due at the largest integer, which no schedule has from now on.
UPDATE outbox_scheduled SET due_at = 9223372036854775806 WHERE due_at = 9223372036854775807;
CREATE INDEX outbox_scheduled_aside ON outbox_scheduled (topic, lane) WHERE due_at = 9223372036854775807;

UPDATE outbox_schema_version SET version = 3;
