-- The message without a key at ?1 is due now. By primary key.
UPDATE outbox_scheduled
SET due_at = CAST(unixepoch('subsec') * 1000 AS INTEGER)
WHERE position = ?1
