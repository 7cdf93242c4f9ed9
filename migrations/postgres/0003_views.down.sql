DROP VIEW outbox.dead_letters;
DROP VIEW outbox.blocked;
DROP VIEW outbox.backlog;
DROP VIEW outbox.pending;
DROP FUNCTION outbox.text_of(bytea);

UPDATE outbox.schema_version SET version = 2;
