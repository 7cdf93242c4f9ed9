-- Blocks the keys of waiting messages until their retry is due: ?1 = [[position, until], ...]. A key that a dead letter holds stays held. By primary key,
-- and the key index of outbox_blocked_key.
INSERT INTO outbox_blocked_key (lane, topic, key, until, reason, position)
SELECT w.lane, w.topic, w.key, given.value ->> 1, 'retry', w.position
FROM json_each(?1) AS given
CROSS JOIN outbox_waiting w
WHERE w.position = given.value ->> 0
ON CONFLICT (topic, key) DO UPDATE
SET until = excluded.until,
    reason = excluded.reason,
    position = excluded.position
WHERE outbox_blocked_key.reason <> 'dead'
