DROP TABLE outbox_audit;

UPDATE outbox_schema_version SET version = 4;
