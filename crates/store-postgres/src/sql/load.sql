-- Reads the chosen messages whole: at the positions $2 of the lines of the lanes $1, and at the positions $5 of the keys $4 of the topics $3 among those set aside. By
-- primary keys, the marks by theirs; the lanes are locked.
SELECT
  x.lane, x.position, x.id, x.topic, x.key, x.headers, x.content_type, x.attempts, x.tries,
  (
    SELECT count(*)
    FROM outbox.start_mark s
    WHERE s.lane = x.lane
      AND s.position = x.position
  ) AS starts,
  x.payload
FROM (
  SELECT m.lane, m.position, m.id, m.topic, m.key, m.headers, m.content_type, m.attempts, m.tries, m.payload
  FROM unnest($1::bigint[], $2::bigint[]) AS g (lane, position)
  CROSS JOIN LATERAL (
    SELECT *
    FROM outbox.message m
    WHERE m.lane = g.lane::smallint
      AND m.position = g.position
  ) AS m
  UNION ALL
  SELECT w.lane, w.position, w.id, w.topic, w.key, w.headers, w.content_type, w.attempts, w.tries, w.payload
  FROM unnest($3::text[], $4::text[], $5::bigint[]) AS g (topic, key, position)
  CROSS JOIN LATERAL (
    SELECT *
    FROM outbox.waiting w
    WHERE w.topic = g.topic
      AND w.key = g.key
      AND w.position = g.position
  ) AS w
) AS x
