-- Forgets at most ?1 ids whose remembered time is over. Served by outbox_saved_id_expires.
DELETE FROM outbox_saved_id
WHERE id IN (
  SELECT s.id
  FROM outbox_saved_id s
  WHERE s.expires_at <= CAST(unixepoch('subsec') * 1000 AS INTEGER)
  ORDER BY s.expires_at
  LIMIT ?1
)
