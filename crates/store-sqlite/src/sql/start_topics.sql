-- Ends the stops of the topics ?1 = [topic, ...] whose destination was down. By primary key.
UPDATE outbox_topic_state
SET until = 0
WHERE topic IN (SELECT value FROM json_each(?1))
  AND cause = 'destination'
  AND until > CAST(unixepoch('subsec') * 1000 AS INTEGER)
