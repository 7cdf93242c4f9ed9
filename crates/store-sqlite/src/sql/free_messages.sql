-- At most ?2 messages without a key that a stop of topic ?1 set aside are due now. Served by outbox_scheduled_aside.
UPDATE outbox_scheduled
SET due_at = CAST(unixepoch('subsec') * 1000 AS INTEGER)
WHERE position IN (
  SELECT s.position
  FROM outbox_scheduled s
  WHERE s.due_at = 9223372036854775807
    AND s.topic = ?1
  LIMIT ?2
)
