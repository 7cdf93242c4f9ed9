-- What was handled is forgotten with the table: a message that is delivered again is handled again.
DROP INDEX outbox.dead_saved;
DROP TABLE outbox.inbox;

UPDATE outbox.schema_version SET version = 5;
