-- Counts failures of messages ($1 lanes, $2 positions, $3 tries, $4 topics, $5 keys) that still have the tries they were claimed with: $6 says which are
-- counted, $7 why. Answers lane, position, and whether it is set aside. The lanes are locked. By the primary keys of message and waiting.
--
-- The rows are found one by one and then updated by their place: a join with the table may be planned as a walk over it.
WITH
  found AS MATERIALIZED (
    SELECT
      g.counted::int AS counted,
      g.error,
      (SELECT m.ctid FROM outbox.message m WHERE m.lane = g.lane::smallint AND m.position = g.position AND m.tries = g.tries) AS line,
      (
        SELECT w.ctid
        FROM outbox.waiting w
        WHERE w.topic = g.topic
          AND w.key = g.key
          AND w.position = g.position
          AND w.lane = g.lane::smallint
          AND w.tries = g.tries
      ) AS aside
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::boolean[], $7::text[])
      AS g (lane, position, tries, topic, key, counted, error)
  ),
  line AS (
    UPDATE outbox.message m
    SET attempts = least(m.attempts + f.counted, 4294967295),
        tries = least(m.tries + 1, 4294967295),
        error = f.error
    FROM found f
    WHERE m.ctid = f.line
    RETURNING m.lane, m.position
  ),
  aside AS (
    UPDATE outbox.waiting w
    SET attempts = least(w.attempts + f.counted, 4294967295),
        tries = least(w.tries + 1, 4294967295),
        error = f.error
    FROM found f
    WHERE w.ctid = f.aside
    RETURNING w.lane, w.position
  )
SELECT lane, position, false
FROM line
UNION ALL
SELECT lane, position, true
FROM aside
