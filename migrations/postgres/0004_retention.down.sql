-- The partitions stay as they are, with what is in them.
DROP FUNCTION outbox.drop_partitions(timestamptz, integer);
DROP FUNCTION outbox.old_partitions(timestamptz);
DROP FUNCTION outbox.add_partitions();

UPDATE outbox.schema_version SET version = 3;
