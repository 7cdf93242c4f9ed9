-- The inbox: the ids of messages that consumers have handled. Any program may record them, in the transaction that handles the message:
--   INSERT INTO outbox_inbox (consumer, message_id) VALUES ('billing', '...') ON CONFLICT DO NOTHING
-- inserts a row the first time and none the second.
CREATE TABLE outbox_inbox (
  consumer TEXT NOT NULL CHECK (length(CAST(consumer AS BLOB)) BETWEEN 1 AND 255),
  message_id TEXT NOT NULL CHECK (length(CAST(message_id AS BLOB)) BETWEEN 1 AND 255),
  handled_at INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)),
  PRIMARY KEY (consumer, message_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX outbox_inbox_handled ON outbox_inbox (handled_at);

-- The oldest dead letter, before whose age nothing of the inbox is forgotten.
CREATE INDEX outbox_dead_saved ON outbox_dead (saved_at);

UPDATE outbox_schema_version SET version = 4;
