-- The ten keys that are blocked longest, for people. Served by blocked_key_position; what is set aside behind each by the primary key of waiting, its
-- dead letter by that of dead.
SELECT
  b.topic,
  b.key,
  b.reason = 'dead',
  b.position,
  CASE WHEN isfinite(b.until) THEN (extract(epoch FROM b.until) * 1000)::bigint END,
  (SELECT count(*) FROM outbox.waiting w WHERE w.topic = b.topic AND w.key = b.key),
  coalesce(
    (SELECT w.error FROM outbox.waiting w WHERE w.topic = b.topic AND w.key = b.key AND w.position = b.position),
    (SELECT d.error FROM outbox.dead d WHERE d.position = b.position)
  )
FROM outbox.blocked_key b
WHERE b.reason NOT IN ('busy', 'topic')
ORDER BY b.position
LIMIT 10
