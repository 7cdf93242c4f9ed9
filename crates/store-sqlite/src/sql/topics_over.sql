-- The topics whose stop is over. It reads the table, which has a row for each topic that is stopped.
SELECT topic
FROM outbox_topic_state
WHERE until <= CAST(unixepoch('subsec') * 1000 AS INTEGER)
