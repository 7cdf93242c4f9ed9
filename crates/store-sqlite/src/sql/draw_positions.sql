-- Draws ?1 positions in the caller's transaction. One row, by its primary key.
UPDATE outbox_position
SET last = last + ?1
WHERE one = 1
RETURNING
  last,
  CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now,
  (SELECT version FROM outbox_schema_version WHERE one = 1) AS version
