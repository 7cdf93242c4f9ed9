-- Ends the stop of the topic $1. By primary key.
UPDATE outbox.topic_state
SET until = '-infinity'
WHERE topic = $1::text
  AND until > now()
RETURNING 1
