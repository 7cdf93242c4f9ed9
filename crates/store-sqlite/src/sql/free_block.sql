-- The key of block ?1 is due now. By primary key.
UPDATE outbox_blocked_key
SET until = CAST(unixepoch('subsec') * 1000 AS INTEGER),
    reason = 'retry'
WHERE number = ?1
