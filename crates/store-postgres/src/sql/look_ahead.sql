-- For lines whose window is all of one key: looks further on in each lane of $1, behind the position of $2 and what is known already, for a message that is
-- not of the key $3, $4 of the window, and remembers how far it looked: $5 rows of one lane, half as many of several together. Answers the lanes where there is one. Served by the primary key of message; the
-- lanes are locked.
WITH
  further AS MATERIALIZED (
    SELECT
      l.lane,
      l.epoch,
      f.other,
      CASE WHEN f.other THEN greatest(l.ahead, g.last) ELSE greatest(l.ahead, g.last, f.last) END AS ahead
    FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[]) AS g (lane, last, topic, key)
    CROSS JOIN LATERAL (
      SELECT l.lane, l.epoch, l.ahead
      FROM outbox.lane l
      WHERE l.lane = g.lane::smallint
      ORDER BY l.lane DESC, l.epoch DESC
      LIMIT 1
    ) AS l
    CROSS JOIN LATERAL (
      SELECT
        max(n.position) AS last,
        coalesce(bool_or(n.topic <> g.topic OR n.key IS DISTINCT FROM g.key), false) AS other
      FROM (
        SELECT m.position, m.topic, m.key
        FROM outbox.message m
        WHERE m.lane = l.lane
          AND m.position > greatest(l.ahead, g.last)
        ORDER BY m.lane, m.position
        LIMIT CASE WHEN cardinality($1) = 1 THEN $5 ELSE $5 / 2 / cardinality($1) END
      ) AS n
    ) AS f
  ),
  known AS (
    UPDATE outbox.lane l
    SET ahead = f.ahead
    FROM further f
    WHERE l.lane = f.lane
      AND l.epoch = f.epoch
  )
SELECT f.lane
FROM further f
WHERE f.other
