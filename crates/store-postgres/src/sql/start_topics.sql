-- Ends the stops of the topics $1 that were made because a destination was down. By primary key; the rows are locked in the order of topics.
UPDATE outbox.topic_state t
SET until = '-infinity'
FROM (
  SELECT s.topic
  FROM outbox.topic_state s
  WHERE s.topic = ANY ($1::text[])
    AND s.cause = 'destination'
    AND s.until > '-infinity'
  ORDER BY s.topic
  FOR UPDATE
) AS s
WHERE t.topic = s.topic
