-- Moves messages ($1 lanes, $2 positions, $3 topics, $4 keys) from the line, or from those set aside, to the dead letters, with reason $5 and the policy $6
-- of their key. The lanes are locked. By the primary keys of message and waiting.
WITH
  found AS MATERIALIZED (
    SELECT
      g.reason,
      g.after,
      (SELECT m.ctid FROM outbox.message m WHERE m.lane = g.lane::smallint AND m.position = g.position) AS line,
      (
        SELECT w.ctid
        FROM outbox.waiting w
        WHERE w.topic = g.topic
          AND w.key = g.key
          AND w.position = g.position
          AND w.lane = g.lane::smallint
      ) AS aside
    FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[]) AS g (lane, position, topic, key, reason, after)
  ),
  line AS (
    DELETE FROM outbox.message m
    USING found f
    WHERE m.ctid = f.line
    RETURNING m.lane, m.position, m.id, m.topic, m.key, m.headers, m.content_type, m.attempts, m.tries, m.error, m.saved_at, f.reason, f.after, m.payload
  ),
  aside AS (
    DELETE FROM outbox.waiting w
    USING found f
    WHERE w.ctid = f.aside
    RETURNING w.lane, w.position, w.id, w.topic, w.key, w.headers, w.content_type, w.attempts, w.tries, w.error, w.saved_at, f.reason, f.after, w.payload
  )
INSERT INTO outbox.dead (lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, died_at, reason, after, payload)
SELECT lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, clock_timestamp(), reason, after, payload
FROM line
UNION ALL
SELECT lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, clock_timestamp(), reason, after, payload
FROM aside
