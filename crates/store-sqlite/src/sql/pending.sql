-- All pending messages by position, for tests of applications. It reads the three tables whole.
SELECT position, lane, id, topic, key, headers, content_type, payload FROM outbox_message
UNION ALL
SELECT position, lane, id, topic, key, headers, content_type, payload FROM outbox_waiting
UNION ALL
SELECT position, lane, id, topic, key, headers, content_type, payload FROM outbox_scheduled
ORDER BY position
