-- Remembers the ids of ?1 = [[id, ms], ...], unless they are remembered already. Served by the primary key of outbox_saved_id.
INSERT INTO outbox_saved_id (id, expires_at)
SELECT
  given.value ->> 0,
  CAST(unixepoch('subsec') * 1000 AS INTEGER) + (given.value ->> 1)
FROM json_each(?1) AS given
WHERE true
ON CONFLICT (id) DO UPDATE
SET expires_at = excluded.expires_at
WHERE outbox_saved_id.expires_at <= CAST(unixepoch('subsec') * 1000 AS INTEGER)
RETURNING id
