-- The ten keys that are blocked longest, for people.
SELECT
  b.topic,
  b.key,
  b.reason,
  b.position,
  b.until,
  (SELECT count(*) FROM outbox_waiting w WHERE w.topic = b.topic AND w.key = b.key) AS waiting,
  coalesce(
    (SELECT w.error FROM outbox_waiting w WHERE w.position = b.position),
    (SELECT d.error FROM outbox_dead d WHERE d.position = b.position)
  ) AS error
FROM outbox_blocked_key b
WHERE b.reason NOT IN ('busy', 'topic')
ORDER BY b.position
LIMIT 10
