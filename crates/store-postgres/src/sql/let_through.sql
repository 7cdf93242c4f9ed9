-- Lets a message of the topic $1 in the lane $2 through, if its stop set one aside there: the first of a key, or else one without a key. It is due now, and the
-- only one that claims hand out. Answers its position. The lane is locked, so nobody moves it meanwhile; a row of topic_state that somebody else just changes is
-- not waited for. By the primary keys of topic_state and waiting, blocked_key_topic and scheduled_topic.
WITH
  pick AS MATERIALIZED (
    SELECT
      b.row,
      b.position,
      NULL::tid AS later
    FROM (
      SELECT
        b.ctid AS row,
        (
          SELECT w.position
          FROM outbox.waiting w
          WHERE w.topic = b.topic
            AND w.key = b.key
          ORDER BY w.topic, w.key, w.position
          LIMIT 1
        ) AS position
      FROM outbox.blocked_key b
      WHERE b.topic = $1::text
        AND b.lane = $2::bigint::smallint
        AND b.reason = 'topic'
      ORDER BY b.topic, b.lane
      LIMIT 1
    ) AS b
    UNION ALL
    (
      SELECT
        NULL,
        s.position,
        s.ctid
      FROM outbox.scheduled s
      WHERE s.topic = $1::text
        AND s.lane = $2::bigint::smallint
        AND s.due_at = '200000-01-01 00:00:00+00'
      ORDER BY s.topic, s.lane
      LIMIT 1
    )
    LIMIT 1
  ),
  state AS MATERIALIZED (
    SELECT t.topic
    FROM outbox.topic_state t
    WHERE t.topic = $1::text
      AND t.cause = 'destination'
      AND t.until > now()
    FOR UPDATE SKIP LOCKED
  ),
  said AS (
    UPDATE outbox.topic_state t
    SET probe = p.position,
        probe_lane = $2::bigint
    FROM state s
    CROSS JOIN pick p
    WHERE t.topic = s.topic
    RETURNING p.row, p.later, p.position
  ),
  keyed AS (
    UPDATE outbox.blocked_key b
    SET until = clock_timestamp(),
        reason = 'retry',
        position = coalesce(s.position, b.position)
    FROM said s
    WHERE b.ctid = s.row
  ),
  unkeyed AS (
    UPDATE outbox.scheduled l
    SET due_at = clock_timestamp()
    FROM said s
    WHERE l.ctid = s.later
  )
SELECT s.position
FROM said s
