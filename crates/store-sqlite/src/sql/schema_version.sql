-- The one row of the version table.
SELECT version
FROM outbox_schema_version
WHERE one = 1
