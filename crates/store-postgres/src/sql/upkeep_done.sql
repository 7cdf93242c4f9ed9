-- Upkeep is done for a minute. One row.
UPDATE outbox.upkeep
SET done_at = now()
WHERE one
