-- What was handled is forgotten with the table: a message that is delivered again is handled again.
DROP INDEX outbox_dead_saved;
DROP TABLE outbox_inbox;

UPDATE outbox_schema_version SET version = 3;
