-- What is let through of topic ?1, if its destination is down: of the lane behind the last one, in turn, the head of a key or a message without one, whichever
-- was tried least, so that a message that fails alone is not tried for ever. The first hundred of each are looked at. Served by outbox_blocked_key_topic,
-- outbox_waiting_key and outbox_scheduled_aside.
WITH
  turn (lane) AS MATERIALIZED (
    SELECT l.lane
    FROM outbox_topic_state t
    CROSS JOIN outbox_lane l
    WHERE t.topic = ?1
      AND t.cause = 'destination'
      AND t.until > CAST(unixepoch('subsec') * 1000 AS INTEGER)
      AND (
        EXISTS (
          SELECT 1
          FROM outbox_blocked_key b
          WHERE b.reason = 'topic'
            AND b.topic = ?1
            AND b.lane = l.lane
            AND EXISTS (
              SELECT 1
              FROM outbox_waiting w
              WHERE w.topic = b.topic
                AND w.key = b.key
            )
        )
        OR EXISTS (
          SELECT 1
          FROM outbox_scheduled s
          WHERE s.due_at = 9223372036854775807
            AND s.topic = ?1
            AND s.lane = l.lane
        )
      )
    ORDER BY l.lane <= coalesce(t.probe_lane, -1), l.lane
    LIMIT 1
  ),
  keyed (number, topic, key) AS MATERIALIZED (
    SELECT b.number, b.topic, b.key
    FROM outbox_blocked_key b
    WHERE b.reason = 'topic'
      AND b.topic = ?1
      AND b.lane = (SELECT lane FROM turn)
    LIMIT 100
  ),
  unkeyed (position, tries) AS MATERIALIZED (
    SELECT s.position, s.tries
    FROM outbox_scheduled s
    WHERE s.due_at = 9223372036854775807
      AND s.topic = ?1
      AND s.lane = (SELECT lane FROM turn)
    LIMIT 100
  ),
  aside (number, position, tries) AS MATERIALIZED (
    SELECT keyed.number, w.position, w.tries
    FROM keyed
    CROSS JOIN outbox_waiting w
    WHERE w.position = (
      SELECT h.position
      FROM outbox_waiting h
      WHERE h.topic = keyed.topic
        AND h.key = keyed.key
      ORDER BY h.position
      LIMIT 1
    )
    UNION ALL
    SELECT NULL, position, tries
    FROM unkeyed
  )
SELECT (SELECT lane FROM turn) AS lane, number, position
FROM aside
ORDER BY tries, position
LIMIT 1
