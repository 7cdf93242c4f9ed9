-- Ends the stops whose time is over, but for those that somebody else just changes, and answers how many stops are over. It is committed before anything of
-- them is freed. It reads the table, which has a row for each stopped topic.
WITH ended AS (
  UPDATE outbox.topic_state t
  SET until = '-infinity'
  FROM (
    SELECT s.topic
    FROM outbox.topic_state s
    WHERE s.until <= now()
      AND s.until > '-infinity'
    ORDER BY s.topic
    FOR UPDATE SKIP LOCKED
  ) AS s
  WHERE t.topic = s.topic
)
SELECT count(*)
FROM outbox.topic_state t
WHERE t.until <= now()
