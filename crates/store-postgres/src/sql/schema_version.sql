-- The version that the tables have.
SELECT version FROM outbox.schema_version
