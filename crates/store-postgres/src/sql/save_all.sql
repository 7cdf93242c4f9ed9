-- Messages into the line, or into scheduled if they are due later, at positions drawn in the order given. Answers one row, with their positions in that order,
-- and 0 for a duplicate. Without a key a message goes into any lane.
-- $8 holds how many ms an id is remembered (no id twice), $9 after how many ms a message is due, $10 at what time in ms since 1970.
-- $11 says whether relays that listen are told of $12, unless they look all the time anyway (quiet); the server does so once for all saves of a transaction.
WITH remembered AS (
  -- By the primary key of saved_id, in the order of the ids, so that two calls never wait for each other. A row whose time is over counts as absent. One
  -- that another transaction wrote is waited for, and judged as it is then, not as the snapshot of this statement has it.
  INSERT INTO outbox.saved_id AS s (id, expires_at)
  SELECT u.id, statement_timestamp() + make_interval(secs => u.once / 1000.0)
  FROM unnest($2::text[], $8::bigint[]) AS u (id, once)
  WHERE u.once IS NOT NULL
  ORDER BY u.id COLLATE "C"
  ON CONFLICT (id) DO UPDATE
  SET expires_at = excluded.expires_at
  WHERE s.expires_at <= statement_timestamp()
  RETURNING s.id
),
drawn AS MATERIALIZED (
  -- A sub-select that is ordered is run first: so the order of drawing is that of the call.
  SELECT
    g.*,
    CASE WHEN g.is_new THEN outbox.next_position() END AS position
  FROM (
    SELECT
      u.*,
      u.once IS NULL OR u.id IN (SELECT r.id FROM remembered AS r) AS is_new,
      coalesce(statement_timestamp() + make_interval(secs => u.after / 1000.0), to_timestamp(u.at / 1000.0)) > statement_timestamp() AS is_later,
      coalesce(statement_timestamp() + make_interval(secs => u.after / 1000.0), to_timestamp(u.at / 1000.0)) AS due_at
    FROM unnest(
      $1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[], $8::bigint[], $9::bigint[], $10::bigint[]
    ) WITH ORDINALITY AS u (lane, id, topic, key, content_type, headers, payload, once, after, at, n)
    ORDER BY u.n
  ) AS g
),
into_line AS (
  INSERT INTO outbox.message (position, lane, id, topic, key, content_type, headers, payload)
  SELECT
    d.position,
    coalesce(d.lane, floor(random() * 64)::bigint)::smallint,
    d.id,
    d.topic,
    d.key,
    d.content_type,
    d.headers::json,
    d.payload
  FROM drawn AS d
  WHERE d.position IS NOT NULL
    AND d.is_later IS NOT TRUE
),
into_scheduled AS (
  INSERT INTO outbox.scheduled (position, due_at, lane, id, topic, key, content_type, headers, payload)
  SELECT
    d.position,
    d.due_at,
    coalesce(d.lane, floor(random() * 64)::bigint)::smallint,
    d.id,
    d.topic,
    d.key,
    d.content_type,
    d.headers::json,
    d.payload
  FROM drawn AS d
  WHERE d.position IS NOT NULL
    AND d.is_later
)
SELECT
  string_agg(int8send(coalesce(d.position, 0)), '' ORDER BY d.n),
  CASE WHEN $11::boolean AND count(d.position) > 0 THEN (
    SELECT pg_notify('outbox', $12::text) IS NULL
    FROM outbox.quiet q
    WHERE q.last_value < (date_part('epoch', clock_timestamp()) * 1000)::bigint
  ) END
FROM drawn AS d
