-- Reads the first $2 messages of the line of each lane of $1, whole as long as they have at most $3 bytes together; the very first one is whole in any case.
-- Flagged ones, whose key is blocked or whose topic is stopped, are never whole. $4 is 1 if the share of a lane is too small to find a key that keeps a lane to itself. Served by the
-- primary keys of lane, message, blocked_key, topic_state and start_mark; the lanes are locked.
--
-- Of a stopped topic only the message without a key that is let through is not flagged; and what stands in a wrong lane, which dies of it.
--
-- A line whose first $2 messages are all of one key is looked at further on for a message of another: so its key is found to be busy long before that message's
-- turn: $5 rows of one, half as many of several together, so that what it costs a claim does not grow with their number. Each row is looked at about once (lane.ahead).
--
-- That is decided from the first and the last of these $2 messages and the first that is not of the same key, so that rows are not kept for it: they go out as they are
-- read. They come lane by lane in order, as long as the plan is what it is; who reads them puts them in order.
WITH
  held AS MATERIALIZED (
    SELECT
      g.number,
      l.lane,
      l.epoch,
      l.ahead,
      l.floor,
      (SELECT true FROM outbox.start_mark s WHERE s.lane = l.lane LIMIT 1) AS marked,
      (SELECT true FROM outbox.blocked_key b WHERE b.lane = l.lane LIMIT 1) IS NOT NULL AS has_blocks,
      (SELECT true FROM outbox.topic_state LIMIT 1) IS NOT NULL AS has_stops
    FROM unnest($1::bigint[]) WITH ORDINALITY AS g (lane, number)
    CROSS JOIN LATERAL (
      SELECT *
      FROM outbox.lane l
      WHERE l.lane = g.lane::smallint
      ORDER BY l.lane DESC, l.epoch DESC
      LIMIT 1
    ) AS l
  ),
  lone AS MATERIALIZED (
    SELECT
      h.lane,
      h.epoch,
      f.topic,
      f.key,
      greatest(h.ahead, e.position) AS known
    FROM held h
    CROSS JOIN LATERAL (
      SELECT m.topic, m.key
      FROM outbox.message m
      WHERE m.lane = h.lane
        AND m.position >= h.floor
      ORDER BY m.lane, m.position
      LIMIT 1
    ) AS f
    CROSS JOIN LATERAL (
      SELECT n.position
      FROM outbox.message n
      WHERE n.lane = h.lane
        AND n.position >= h.floor
      ORDER BY n.lane, n.position
      OFFSET $2 - 1
      LIMIT 1
    ) AS e
    WHERE $4 = 0
      AND f.key IS NOT NULL
      AND (
        SELECT true
        FROM (
          SELECT n.topic, n.key
          FROM outbox.message n
          WHERE n.lane = h.lane
            AND n.position >= h.floor
          ORDER BY n.lane, n.position
          LIMIT $2
        ) AS n
        WHERE n.topic <> f.topic
          OR n.key IS DISTINCT FROM f.key
        LIMIT 1
      ) IS NULL
      AND (SELECT b.lane FROM outbox.blocked_key b WHERE b.topic = f.topic AND b.key = f.key) IS DISTINCT FROM h.lane
      AND (
        SELECT true
        FROM outbox.topic_state t
        WHERE t.topic = f.topic
          AND t.until > now()
          AND h.lane = outbox.lane_of(f.topic, f.key)
      ) IS NULL
  ),
  further AS MATERIALIZED (
    SELECT
      o.lane,
      o.epoch,
      f.other,
      CASE WHEN f.other THEN o.known ELSE greatest(o.known, f.last) END AS ahead
    FROM lone o
    CROSS JOIN LATERAL (
      SELECT
        max(n.position) AS last,
        coalesce(bool_or(n.topic <> o.topic OR n.key IS DISTINCT FROM o.key), false) AS other
      FROM (
        SELECT m.position, m.topic, m.key
        FROM outbox.message m
        WHERE m.lane = o.lane
          AND m.position > o.known
        ORDER BY m.lane, m.position
        LIMIT CASE WHEN (SELECT count(*) FROM lone) = 1 THEN $5 ELSE $5 / 2 / (SELECT count(*) FROM lone) END
      ) AS n
    ) AS f
  ),
  known AS (
    UPDATE outbox.lane l
    SET ahead = f.ahead
    FROM further f
    WHERE l.lane = f.lane
      AND l.epoch = f.epoch
      AND l.ahead <> f.ahead
  ),
  judged AS MATERIALIZED (
    SELECT h.*, coalesce((SELECT f.other FROM further f WHERE f.lane = h.lane), false) AS busy
    FROM held h
  )
SELECT
  h.lane,
  r.position,
  r.waits IS NOT NULL,
  r.waits = 'topic',
  r.weight,
  h.busy,
  CASE WHEN r.waits IS NULL AND (r.bytes <= $3 OR (h.number = 1 AND r.number = 1)) THEN r.id END AS id,
  r.topic,
  r.key,
  CASE WHEN r.waits IS NULL AND (r.bytes <= $3 OR (h.number = 1 AND r.number = 1)) THEN r.headers END AS headers,
  CASE WHEN r.waits IS NULL AND (r.bytes <= $3 OR (h.number = 1 AND r.number = 1)) THEN r.content_type END AS content_type,
  r.attempts,
  r.tries,
  CASE
    WHEN h.marked THEN (
      SELECT count(*)
      FROM outbox.start_mark s
      WHERE s.lane = h.lane
        AND s.position = r.position
    )
    ELSE 0
  END AS starts,
  CASE WHEN r.waits IS NULL AND (r.bytes <= $3 OR (h.number = 1 AND r.number = 1)) THEN r.payload END AS payload
FROM judged h
CROSS JOIN LATERAL (
  SELECT
    w.*,
    sum(CASE WHEN w.waits IS NULL THEN w.weight ELSE 0 END) OVER (ORDER BY w.position ROWS UNBOUNDED PRECEDING) AS bytes,
    row_number() OVER (ORDER BY w.position ROWS UNBOUNDED PRECEDING) AS number
  FROM (
    SELECT
      m.position,
      m.topic,
      m.key,
      m.id,
      m.headers,
      m.content_type,
      m.attempts,
      m.tries,
      m.payload,
      CASE
        WHEN h.has_blocks AND m.lane = (SELECT b.lane FROM outbox.blocked_key b WHERE b.topic = m.topic AND b.key = m.key) THEN 'key'
        WHEN h.has_stops AND (
          SELECT true
          FROM outbox.topic_state t
          WHERE t.topic = m.topic
            AND t.until > now()
            AND CASE WHEN m.key IS NULL THEN t.probe IS DISTINCT FROM m.position ELSE m.lane = outbox.lane_of(m.topic, m.key) END
        ) THEN 'topic'
      END AS waits,
      octet_length(m.payload)
        + coalesce(octet_length(m.headers::text), 0)
        + octet_length(m.id)
        + octet_length(m.topic)
        + coalesce(octet_length(m.key), 0)
        + coalesce(octet_length(m.content_type), 0) AS weight
    FROM outbox.message m
    WHERE m.lane = h.lane
      AND m.position >= h.floor
    ORDER BY m.lane, m.position
    LIMIT $2
  ) AS w
) AS r
