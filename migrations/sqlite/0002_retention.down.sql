-- Published messages that were kept go with the table.
DROP TABLE outbox_published;

UPDATE outbox_schema_version SET version = 1;
