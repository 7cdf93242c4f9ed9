-- Deletes at most ?2 messages published at least ?1 ms ago, oldest first. Served by outbox_published_at.
DELETE FROM outbox_published
WHERE number IN (
  SELECT p.number
  FROM outbox_published p
  WHERE p.published_at <= CAST(unixepoch('subsec') * 1000 AS INTEGER) - ?1
  ORDER BY p.published_at
  LIMIT ?2
)
