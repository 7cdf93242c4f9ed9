-- A key that waits for a retry is due now. Served by the key index of outbox_blocked_key.
UPDATE outbox_blocked_key
SET until = min(until, CAST(unixepoch('subsec') * 1000 AS INTEGER))
WHERE topic = ?1
  AND key = ?2
  AND reason = 'retry'
