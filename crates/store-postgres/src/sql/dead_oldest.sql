-- The dead letter that was saved first, and how many ms ago. One row, or none. Served by dead_saved.
SELECT
  d.id,
  d.topic,
  (extract(epoch FROM now() - d.saved_at) * 1000)::bigint
FROM outbox.dead d
ORDER BY d.saved_at
LIMIT 1
