-- Forgets a stop of topic ?1 that is over. By primary key.
DELETE FROM outbox_topic_state
WHERE topic = ?1
  AND until <= CAST(unixepoch('subsec') * 1000 AS INTEGER)
