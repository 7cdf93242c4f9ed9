-- The inbox: the ids of messages that consumers have handled. Any program may record them, in the transaction that handles the message:
--   INSERT INTO outbox.inbox (consumer, message_id) VALUES ('billing', '...') ON CONFLICT DO NOTHING
-- inserts a row the first time and none the second. A second delivery at the same time waits there for the end of the first one's transaction.
CREATE TABLE outbox.inbox (
  handled_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  consumer text COLLATE "C" NOT NULL CHECK (octet_length(consumer) BETWEEN 1 AND 255),
  message_id text COLLATE "C" NOT NULL CHECK (octet_length(message_id) BETWEEN 1 AND 255),
  PRIMARY KEY (consumer, message_id)
);

CREATE INDEX inbox_handled ON outbox.inbox (handled_at);

-- The oldest dead letter, before whose age nothing of the inbox is forgotten.
CREATE INDEX dead_saved ON outbox.dead (saved_at);

UPDATE outbox.schema_version SET version = 6;
