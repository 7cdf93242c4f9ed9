-- Forgets that consumer ?1 handled message ?2. By the primary key of outbox_inbox.
DELETE FROM outbox_inbox
WHERE consumer = ?1
  AND message_id = ?2
