-- As confirmed_elsewhere.sql, which says why it is right; and keeps the messages that it removes as published.
WITH
  given AS MATERIALIZED (
    SELECT g.lane::smallint AS lane, g.position, g.id, g.topic, g.key
    FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[]) AS g (lane, position, id, topic, key)
  ),
  line AS (
    DELETE FROM outbox.message
    WHERE ctid = ANY (ARRAY(
      SELECT (SELECT m.ctid FROM outbox.message m WHERE m.lane = g.lane AND m.position = g.position AND m.id = g.id)
      FROM given g
    ))
    RETURNING lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, payload
  ),
  aside AS (
    DELETE FROM outbox.waiting
    WHERE ctid = ANY (ARRAY(
      SELECT (
        SELECT w.ctid
        FROM outbox.waiting w
        WHERE w.topic = g.topic
          AND w.key = g.key
          AND w.position = g.position
          AND w.lane = g.lane
          AND w.id = g.id
      )
      FROM given g
    ))
    RETURNING lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, payload
  ),
  later AS (
    DELETE FROM outbox.scheduled
    WHERE ctid = ANY (ARRAY(
      SELECT s.row
      FROM given g
      CROSS JOIN LATERAL (
        SELECT s.ctid AS row, s.lane, s.id
        FROM outbox.scheduled s
        WHERE s.position = g.position
        OFFSET 0
      ) AS s
      WHERE s.lane = g.lane
        AND s.id = g.id
    ))
    RETURNING lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, payload
  ),
  kept AS (
    INSERT INTO outbox.published (lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, published_at, payload)
    SELECT lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, statement_timestamp(), payload
    FROM line
    UNION ALL
    SELECT lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, statement_timestamp(), payload
    FROM aside
    UNION ALL
    SELECT lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, statement_timestamp(), payload
    FROM later
  )
SELECT lane, position, false
FROM line
UNION ALL
SELECT lane, position, true
FROM aside
UNION ALL
SELECT lane, position, false
FROM later
