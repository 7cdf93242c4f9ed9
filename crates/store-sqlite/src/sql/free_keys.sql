-- At most ?2 keys that a stop of topic ?1 set aside are due now. Served by outbox_blocked_key_topic.
UPDATE outbox_blocked_key
SET until = CAST(unixepoch('subsec') * 1000 AS INTEGER),
    reason = 'retry'
WHERE number IN (
  SELECT b.number
  FROM outbox_blocked_key b
  WHERE b.reason = 'topic'
    AND b.topic = ?1
  LIMIT ?2
)
