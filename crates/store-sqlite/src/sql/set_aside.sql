-- Sets the messages of ?1 = [position, ...] aside; first half, see line_delete.sql. By primary key.
INSERT INTO outbox_waiting (position, lane, id, topic, key, headers, content_type, attempts, tries, error, saved_at, payload)
SELECT position, lane, id, topic, key, headers, content_type, attempts, tries, error, saved_at, payload
FROM outbox_message
WHERE position IN (SELECT value FROM json_each(?1))
