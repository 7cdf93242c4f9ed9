-- The due blocks ?1 = [number, ...] last until the stop of their topics is over. By primary key.
UPDATE outbox_blocked_key
SET until = 9223372036854775807,
    reason = 'topic'
WHERE number IN (SELECT value FROM json_each(?1))
