-- Sets messages without a key of stopped topics aside: ?1 = [position, ...]; first half, see line_delete.sql. By primary key.
INSERT INTO outbox_scheduled (position, lane, id, topic, key, headers, content_type, attempts, tries, error, saved_at, due_at, payload)
SELECT position, lane, id, topic, key, headers, content_type, attempts, tries, error, saved_at, 9223372036854775807, payload
FROM outbox_message
WHERE position IN (SELECT value FROM json_each(?1))
