-- As fence.sql, which says why it is right; and keeps the messages that it removes as published.
WITH
  given AS MATERIALIZED (
    SELECT g.lane::smallint AS lane, g.epoch, g.holder, g.release
    FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::boolean[]) AS g (lane, epoch, holder, release)
  ),
  locked AS MATERIALIZED (
    SELECT l.*
    FROM (SELECT DISTINCT g.lane FROM given g ORDER BY g.lane) AS g
    CROSS JOIN LATERAL (
      SELECT l.lane, l.epoch, l.holder, l.careful
      FROM outbox.lane l
      WHERE l.lane = g.lane
      ORDER BY l.lane DESC, l.epoch DESC
      LIMIT 1
      FOR UPDATE
    ) AS l
  ),
  held AS MATERIALIZED (
    SELECT k.lane, k.epoch, k.careful, g.release
    FROM locked k
    JOIN given g ON g.lane = k.lane
      AND g.epoch = k.epoch
      AND g.holder = k.holder
  ),
  released AS (
    UPDATE outbox.lane l
    SET epoch = l.epoch + 1,
        holder = NULL,
        relay = NULL,
        lease_until = '-infinity'
    FROM held h
    WHERE l.lane = h.lane
      AND l.epoch = h.epoch
      AND h.release
  ),
  gone AS (
    DELETE FROM outbox.message
    WHERE ctid = ANY (ARRAY(
      SELECT (SELECT m.ctid FROM outbox.message m WHERE m.lane = c.lane::smallint AND m.position = c.position AND m.id = c.id)
      FROM unnest($5::bigint[], $6::bigint[], $7::text[]) AS c (lane, position, id)
      WHERE (SELECT count(*) FROM locked) > 0
    ))
    RETURNING lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, payload
  ),
  kept AS (
    INSERT INTO outbox.published (lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, published_at, payload)
    SELECT lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, statement_timestamp(), payload
    FROM gone
  )
SELECT
  h.lane,
  h.careful > 0,
  (SELECT true FROM outbox.start_mark s WHERE s.lane = h.lane LIMIT 1),
  NULL
FROM held h
UNION ALL
SELECT
  g.lane,
  false,
  false,
  string_agg(int8send(g.position), '')
FROM gone g
GROUP BY g.lane
