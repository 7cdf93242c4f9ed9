-- Blocks the keys of the messages of ?1 = [position, ...], which were just set aside, as busy until ?2, which is now. By primary key.
INSERT INTO outbox_blocked_key (lane, topic, key, until, reason, position)
SELECT lane, topic, key, ?2, 'busy', position
FROM outbox_waiting
WHERE position IN (SELECT value FROM json_each(?1))
