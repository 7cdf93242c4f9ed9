-- Remembers the id ?1 for ?2 ms, unless it is remembered already. Served by the primary key of outbox_saved_id.
INSERT INTO outbox_saved_id (id, expires_at)
VALUES (?1, CAST(unixepoch('subsec') * 1000 AS INTEGER) + ?2)
ON CONFLICT (id) DO UPDATE
SET expires_at = excluded.expires_at
WHERE outbox_saved_id.expires_at <= CAST(unixepoch('subsec') * 1000 AS INTEGER)
RETURNING id
