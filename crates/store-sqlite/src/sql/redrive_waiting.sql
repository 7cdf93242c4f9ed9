-- Dead letters that hold their key wait in it again, in their old place: ?1 = [[position, lane], ...]; see dead_delete.sql. By primary key.
INSERT INTO outbox_waiting (position, lane, id, topic, key, headers, content_type, attempts, tries, error, saved_at, payload)
SELECT d.position, given.value ->> 1, d.id, d.topic, d.key, d.headers, d.content_type, 0, 0, NULL, d.saved_at, d.payload
FROM json_each(?1) AS given
CROSS JOIN outbox_dead d
WHERE d.position = given.value ->> 0
