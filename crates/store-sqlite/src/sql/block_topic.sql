-- Blocks the keys of the messages of ?1 = [position, ...], which are still in line, because their topics are stopped. By primary key, and the key index of
-- outbox_blocked_key.
INSERT INTO outbox_blocked_key (lane, topic, key, until, reason, position)
SELECT lane, topic, key, 9223372036854775807, 'topic', min(position)
FROM outbox_message
WHERE position IN (SELECT value FROM json_each(?1))
GROUP BY topic, key
ON CONFLICT (topic, key) DO NOTHING
