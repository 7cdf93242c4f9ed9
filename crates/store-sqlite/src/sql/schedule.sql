-- Moves messages from the line to those scheduled: ?1 = [[position, due], ...]; first half, see line_delete.sql. By primary key.
INSERT INTO outbox_scheduled (position, lane, id, topic, key, headers, content_type, attempts, tries, error, saved_at, due_at, payload)
SELECT m.position, m.lane, m.id, m.topic, m.key, m.headers, m.content_type, m.attempts, m.tries, m.error, m.saved_at, given.value ->> 1, m.payload
FROM json_each(?1) AS given
CROSS JOIN outbox_message m
WHERE m.position = given.value ->> 0
