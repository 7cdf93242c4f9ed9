-- The dead letter that was saved first, and how many ms ago. One row, or none. Served by outbox_dead_saved.
SELECT
  d.id,
  d.topic,
  CAST(unixepoch('subsec') * 1000 AS INTEGER) - d.saved_at AS age
FROM outbox_dead d
ORDER BY d.saved_at
LIMIT 1
