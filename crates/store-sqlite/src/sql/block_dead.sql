-- Blocks the keys of the dead letters ?1 = [position, ...] until an operator acts. By primary key, and the key index of outbox_blocked_key.
INSERT INTO outbox_blocked_key (lane, topic, key, until, reason, position)
SELECT d.lane, d.topic, d.key, 9223372036854775807, 'dead', d.position
FROM json_each(?1) AS given
CROSS JOIN outbox_dead d
WHERE d.position = given.value
ON CONFLICT (topic, key) DO UPDATE
SET until = excluded.until,
    reason = excluded.reason,
    position = excluded.position
WHERE outbox_blocked_key.reason <> 'dead'
