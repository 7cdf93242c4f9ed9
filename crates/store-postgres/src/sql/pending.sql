-- All pending messages by position, for tests of applications. It reads the three tables whole.
SELECT position, lane, id, topic, key, headers, content_type, payload FROM outbox.message
UNION ALL
SELECT position, lane, id, topic, key, headers, content_type, payload FROM outbox.waiting
UNION ALL
SELECT position, lane, id, topic, key, headers, content_type, payload FROM outbox.scheduled
ORDER BY position
