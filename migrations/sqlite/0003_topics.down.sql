-- What stops set aside is free. Topics are not stopped any more.
DROP INDEX outbox_scheduled_aside;
UPDATE outbox_scheduled SET due_at = 0 WHERE due_at = 9223372036854775807;

CREATE TABLE outbox_blocked_key_2 (
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

INSERT INTO outbox_blocked_key_2 (number, lane, topic, key, until, reason, position)
SELECT number, lane, topic, key, iif(reason = 'topic', 0, until), iif(reason = 'topic', 'retry', reason), position
FROM outbox_blocked_key;

DROP TABLE outbox_blocked_key;
ALTER TABLE outbox_blocked_key_2 RENAME TO outbox_blocked_key;

CREATE INDEX outbox_blocked_key_until ON outbox_blocked_key (lane, until);
CREATE INDEX outbox_blocked_key_position ON outbox_blocked_key (position);

DROP TABLE outbox_topic_state;

UPDATE outbox_schema_version SET version = 2;
