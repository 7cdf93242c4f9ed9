-- Moves messages ($1 lanes, $2 positions) from the line to those scheduled, each due in $3 ms. The lanes are locked. By the primary key of message.
WITH
  found AS MATERIALIZED (
    SELECT
      g.delay,
      (SELECT m.ctid FROM outbox.message m WHERE m.lane = g.lane::smallint AND m.position = g.position) AS row
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS g (lane, position, delay)
  ),
  gone AS (
    DELETE FROM outbox.message m
    USING found f
    WHERE m.ctid = f.row
    RETURNING m.lane, m.position, m.id, m.topic, m.key, m.headers, m.content_type, m.attempts, m.tries, m.error, m.saved_at, f.delay, m.payload
  )
INSERT INTO outbox.scheduled (lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, due_at, payload)
SELECT lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, clock_timestamp() + make_interval(secs => delay / 1000.0), payload
FROM gone
