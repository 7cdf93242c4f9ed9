-- Looks at the line of each lane of $1 behind the position of $2, without payloads, until $3 messages can run or $4 rows were looked at. Flagged rows, whose key
-- is blocked or whose topic is stopped (see read_line), do not count among the $3. Nor do those that a holder who reads on leaves out: what it has in hand, at the
-- positions $5, and messages of the keys $7 of the topics $6, unless their keys are blocked anyway. Served by the primary keys of message, blocked_key and
-- topic_state; the lanes are locked.
SELECT
  l.lane,
  r.position,
  r.waits IS NOT NULL,
  r.waits = 'topic',
  r.weight,
  CASE WHEN r.waits IS NULL THEN r.topic END AS topic,
  CASE WHEN r.waits IS NULL THEN r.key END AS key,
  coalesce(r.waits = 'hand', false) AS left_out
FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS g (lane, behind, number)
CROSS JOIN LATERAL (
  SELECT
    l.lane,
    greatest(l.floor, g.behind + 1) AS floor
  FROM outbox.lane l
  WHERE l.lane = g.lane::smallint
  ORDER BY l.lane DESC, l.epoch DESC
  LIMIT 1
) AS l
CROSS JOIN LATERAL (
  SELECT
    count(*) AS runnable,
    max(q.position) AS last
  FROM (
    SELECT w.position
    FROM (
      SELECT
        m.position,
        CASE
          WHEN m.position IN (SELECT h.position FROM unnest($5::bigint[]) AS h (position)) THEN 'hand'
          WHEN m.lane = (SELECT b.lane FROM outbox.blocked_key b WHERE b.topic = m.topic AND b.key = m.key) THEN 'key'
          WHEN (m.topic, m.key) IN (SELECT c.topic, c.key FROM unnest($6::text[], $7::text[]) AS c (topic, key)) THEN 'hand'
          WHEN (
            SELECT true
            FROM outbox.topic_state t
            WHERE t.topic = m.topic
              AND t.until > now()
              AND CASE WHEN m.key IS NULL THEN t.probe IS DISTINCT FROM m.position ELSE m.lane = outbox.lane_of(m.topic, m.key) END
          ) THEN 'topic'
        END AS waits
      FROM outbox.message m
      WHERE m.lane = l.lane
        AND m.position >= l.floor
      ORDER BY m.lane, m.position
      LIMIT $4
    ) AS w
    WHERE w.waits IS NULL
    LIMIT $3
  ) AS q
) AS e
CROSS JOIN LATERAL (
  SELECT
    m.position,
    m.topic,
    m.key,
    CASE
      WHEN m.position IN (SELECT h.position FROM unnest($5::bigint[]) AS h (position)) THEN 'hand'
      WHEN m.lane = (SELECT b.lane FROM outbox.blocked_key b WHERE b.topic = m.topic AND b.key = m.key) THEN 'key'
      WHEN (m.topic, m.key) IN (SELECT c.topic, c.key FROM unnest($6::text[], $7::text[]) AS c (topic, key)) THEN 'hand'
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
    -- As a bound of the index: a filter would be asked of the whole line.
    AND m.position <= CASE WHEN e.runnable < $3 THEN 9223372036854775807 ELSE e.last END
  ORDER BY m.lane, m.position
  LIMIT $4
) AS r
ORDER BY g.number, r.position
