-- Copies messages to the dead letters: ?1 = [[position, reason, after], ...], ?2 is now; first half, see line_delete.sql and waiting_delete.sql. By primary
-- key.
INSERT INTO outbox_dead (position, lane, id, topic, key, headers, content_type, attempts, tries, error, saved_at, died_at, reason, after, payload)
SELECT m.position, m.lane, m.id, m.topic, m.key, m.headers, m.content_type, m.attempts, m.tries, m.error, m.saved_at, ?2, given.value ->> 1, given.value ->> 2, m.payload
FROM json_each(?1) AS given
CROSS JOIN outbox_message m
WHERE m.position = given.value ->> 0
UNION ALL
SELECT w.position, w.lane, w.id, w.topic, w.key, w.headers, w.content_type, w.attempts, w.tries, w.error, w.saved_at, ?2, given.value ->> 1, given.value ->> 2, w.payload
FROM json_each(?1) AS given
CROSS JOIN outbox_waiting w
WHERE w.position = given.value ->> 0
