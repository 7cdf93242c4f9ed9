-- The keys of the lanes ?1 = [lane, ...] that are due by ?2, at most ?3 of each lane, those that wait longest first, but for the keys
-- ?4 = [[topic, key], ...] of which a holder who reads on has something in hand; each with the first message that waits, whether its topic is stopped, and which message of that is let through. Served by outbox_blocked_key_until, outbox_waiting_key and primary key.
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
      AND t.until > ?2
  ) AS stopped,
  (
    SELECT t.probe
    FROM outbox_topic_state t
    WHERE t.topic = b.topic
  ) AS probe
FROM json_each(?1) AS given
CROSS JOIN outbox_blocked_key b
WHERE b.number IN (
  SELECT d.number
  FROM outbox_blocked_key d
  WHERE d.lane = given.value
    AND d.until <= ?2
    AND (d.topic, d.key) NOT IN (SELECT value ->> 0, value ->> 1 FROM json_each(?4))
  ORDER BY d.until
  LIMIT ?3
)
ORDER BY b.until, b.number
