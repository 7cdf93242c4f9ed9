-- The keys of the lanes ?1 and ?2 that are due by ?3, at most ?4 of each lane, those that wait longest first, each with the first message that
-- waits, whether its topic is stopped, and which message of that is let through. Served by outbox_blocked_key_until, outbox_waiting_key and primary key.
SELECT
  b.number,
  b.lane,
  (
    SELECT w.position
    FROM outbox_waiting w
    WHERE w.topic = b.topic
      AND w.key = b.key
    ORDER BY w.position
    LIMIT 1
  ) AS head,
  EXISTS (
    SELECT 1
    FROM outbox_topic_state t
    WHERE t.topic = b.topic
      AND t.until > ?3
  ) AS stopped,
  (
    SELECT t.probe
    FROM outbox_topic_state t
    WHERE t.topic = b.topic
  ) AS probe
FROM outbox_blocked_key b
WHERE b.number IN (
  SELECT number
  FROM (
    SELECT d.number
    FROM outbox_blocked_key d
    WHERE d.lane = ?1
      AND d.until <= ?3
    ORDER BY d.until
    LIMIT ?4
  )
  UNION ALL
  SELECT number
  FROM (
    SELECT d.number
    FROM outbox_blocked_key d
    WHERE d.lane = ?2
      AND d.until <= ?3
    ORDER BY d.until
    LIMIT ?4
  )
)
ORDER BY b.until, b.number
