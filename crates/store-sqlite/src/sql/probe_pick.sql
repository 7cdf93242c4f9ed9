-- What can be let through of topic ?1, if its destination is down: of the lane behind the last one, in turn, the first blocked key with its head, and the first
-- message without a key. Served by outbox_blocked_key_topic, outbox_waiting_key and outbox_scheduled_aside.
WITH
  lane (lane, number, unkeyed) AS (
    SELECT
      l.lane,
      (
        SELECT b.number
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
        ORDER BY b.number
        LIMIT 1
      ),
      (
        SELECT s.position
        FROM outbox_scheduled s
        WHERE s.due_at = 9223372036854775807
          AND s.topic = ?1
          AND s.lane = l.lane
        ORDER BY s.position
        LIMIT 1
      )
    FROM outbox_lane l
  )
SELECT
  lane.lane,
  lane.number,
  lane.unkeyed,
  (
    SELECT w.position
    FROM outbox_blocked_key b
    CROSS JOIN outbox_waiting w
    WHERE b.number = lane.number
      AND w.topic = b.topic
      AND w.key = b.key
    ORDER BY w.position
    LIMIT 1
  ) AS head
FROM outbox_topic_state t
CROSS JOIN lane
WHERE t.topic = ?1
  AND t.cause = 'destination'
  AND t.until > CAST(unixepoch('subsec') * 1000 AS INTEGER)
  AND coalesce(lane.number, lane.unkeyed) IS NOT NULL
ORDER BY lane.lane <= coalesce(t.probe_lane, -1), lane.lane
LIMIT 1
