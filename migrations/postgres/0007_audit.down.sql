DROP TABLE outbox.audit;

UPDATE outbox.schema_version SET version = 6;
