-- Ends the stop of topic ?1. By primary key.
UPDATE outbox_topic_state
SET until = 0
WHERE topic = ?1
  AND until > CAST(unixepoch('subsec') * 1000 AS INTEGER)
