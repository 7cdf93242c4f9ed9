-- The lane of which the topic $1 may let a message through: the next one behind that of the last time in which the stop set something aside. NULL: there is none.
-- No row: it is not stopped because of a destination. By the primary key of topic_state, blocked_key_topic and scheduled_topic.
SELECT coalesce(
  least(
    (
      SELECT b.lane
      FROM outbox.blocked_key b
      WHERE b.topic = t.topic
        AND b.reason = 'topic'
        AND b.lane > t.probe_lane
      ORDER BY b.topic, b.lane
      LIMIT 1
    ),
    (
      SELECT s.lane
      FROM outbox.scheduled s
      WHERE s.topic = t.topic
        AND s.due_at = '200000-01-01 00:00:00+00'
        AND s.lane > t.probe_lane
      ORDER BY s.topic, s.lane
      LIMIT 1
    )
  ),
  least(
    (
      SELECT b.lane
      FROM outbox.blocked_key b
      WHERE b.topic = t.topic
        AND b.reason = 'topic'
      ORDER BY b.topic, b.lane
      LIMIT 1
    ),
    (
      SELECT s.lane
      FROM outbox.scheduled s
      WHERE s.topic = t.topic
        AND s.due_at = '200000-01-01 00:00:00+00'
      ORDER BY s.topic, s.lane
      LIMIT 1
    )
  )
)
FROM outbox.topic_state t
WHERE t.topic = $1::text
  AND t.cause = 'destination'
  AND t.until > now()
