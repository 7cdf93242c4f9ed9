-- Forgets at most ?2 ids that were handled at least ?1 ms ago, oldest first. Served by outbox_inbox_handled.
DELETE FROM outbox_inbox
WHERE (consumer, message_id) IN (
  SELECT i.consumer, i.message_id
  FROM outbox_inbox i
  WHERE i.handled_at <= CAST(unixepoch('subsec') * 1000 AS INTEGER) - ?1
  ORDER BY i.handled_at
  LIMIT ?2
)
