-- Reads the first $2 messages of the line of each lane of $1, whole as long as they have at most $3 bytes together; the very first one is whole in any case.
-- Flagged ones, whose key is blocked or whose topic is stopped, are never whole. $4 is 1 if the share of a lane is too small to find a key that keeps a lane to itself. Served by the
-- primary keys of lane, message, blocked_key, topic_state and start_mark; the lanes are locked.
--
-- Of a stopped topic only the message without a key that is let through is not flagged; and what stands in a wrong lane, which dies of it.
--
-- A line whose first $2 messages are all of one key is looked at further on, $5 rows a claim and less once much is known, for a message of another: so its key is found to be busy long
-- before that message's turn, and each row is looked at about once (lane.ahead).
WITH
  line AS MATERIALIZED (
    SELECT
      g.number AS lane_number,
      l.lane,
      l.epoch,
      l.ahead,
      l.marked,
      r.waits IS NULL AND (r.bytes <= $3 OR (g.number = 1 AND r.number = 1)) AS whole,
      r.*
    FROM unnest($1::bigint[]) WITH ORDINALITY AS g (lane, number)
    CROSS JOIN LATERAL (
      SELECT
        l.lane,
        l.epoch,
        l.ahead,
        l.floor,
        (SELECT true FROM outbox.start_mark s WHERE s.lane = l.lane LIMIT 1) AS marked
      FROM outbox.lane l
      WHERE l.lane = g.lane::smallint
      ORDER BY l.lane DESC, l.epoch DESC
      LIMIT 1
    ) AS l
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
            WHEN (
              SELECT true
              FROM outbox.blocked_key b
              WHERE b.topic = m.topic
                AND b.key = m.key
                AND b.lane = m.lane
            ) THEN 'key'
            WHEN (
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
        WHERE m.lane = l.lane
          AND m.position >= l.floor
        ORDER BY m.lane, m.position
        LIMIT $2
      ) AS w
    ) AS r
  ),
  lone AS MATERIALIZED (
    SELECT
      i.lane,
      min(i.epoch) AS epoch,
      max(i.position) AS last,
      greatest(min(i.ahead), max(i.position)) AS known,
      min(i.topic) AS topic,
      min(i.key) AS key
    FROM line i
    WHERE $4 = 0
    GROUP BY i.lane
    HAVING count(*) >= $2
      AND count(i.key) = count(*)
      AND min(i.key) = max(i.key)
      AND min(i.topic) = max(i.topic)
      AND count(i.waits) = 0
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
        LIMIT CASE WHEN o.known - o.last < 20000 THEN $5 ELSE $5 / 5 END
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
  )
SELECT
  i.lane,
  i.position,
  i.waits IS NOT NULL,
  i.waits = 'topic',
  i.weight,
  coalesce((SELECT f.other FROM further f WHERE f.lane = i.lane), false) AS busy,
  CASE WHEN i.whole THEN i.id END AS id,
  i.topic,
  i.key,
  CASE WHEN i.whole THEN i.headers END AS headers,
  CASE WHEN i.whole THEN i.content_type END AS content_type,
  i.attempts,
  i.tries,
  CASE
    WHEN i.marked THEN (
      SELECT count(*)
      FROM outbox.start_mark s
      WHERE s.lane = i.lane
        AND s.position = i.position
    )
    ELSE 0
  END AS starts,
  CASE WHEN i.whole THEN i.payload END AS payload
FROM line i
ORDER BY i.lane_number, i.position
