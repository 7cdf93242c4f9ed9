-- Whether there is a schema at all.
SELECT count(*)
FROM sqlite_master
WHERE type = 'table'
  AND name = 'outbox_schema_version'
