-- Walks the line of each lane of ?1 = [lane, ...] by position, without payloads, until ?2 messages or ?3 bytes of it can run, or ?4 rows were looked
-- at. Blocked is 1 if the key is, 2 if the topic is stopped by ?5, which is now, 3 if a holder who reads on leaves it out: at the positions ?6 = [position, ...], or of the
-- keys ?7 = [[topic, key], ...] that are not blocked. Served by outbox_message_lane, the primary keys, and the key index of
-- outbox_blocked_key. The counts of a step leave its own row out.
--
-- The first row has all that was walked in one value, looked = [[lane, position, blocked, whether it has a key, bytes], ...], since each value of a row is copied for
-- the caller. A row follows for each message whose key the caller must know: the first that can run of a lane, if all others that can are of its ordering key, and those of stopped topics.
WITH RECURSIVE
  walk (lane, position, blocked, keyed, weight, taken, bytes, looked) AS MATERIALIZED (
    SELECT value, 0, 1, 0, 0, 0, 0, 0
    FROM json_each(?1)
    UNION ALL
    SELECT
      m.lane,
      m.position,
      CASE
        WHEN m.position IN (SELECT value FROM json_each(?6)) THEN 3
        WHEN EXISTS (
          SELECT 1
          FROM outbox_blocked_key b
          WHERE b.topic = m.topic
            AND b.key = m.key
            AND b.lane = m.lane
        ) THEN 1
        WHEN (m.topic, m.key) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?7)) THEN 3
        WHEN EXISTS (
          SELECT 1
          FROM outbox_topic_state t
          WHERE t.topic = m.topic
            AND t.until > ?5
            AND t.probe IS NOT m.position
        ) THEN 2
        ELSE 0
      END,
      m.key IS NOT NULL,
      octet_length(m.payload)
        + coalesce(octet_length(m.headers), 0)
        + octet_length(m.id)
        + octet_length(m.topic)
        + coalesce(octet_length(m.key), 0)
        + coalesce(octet_length(m.content_type), 0),
      walk.taken + (walk.blocked = 0),
      walk.bytes + iif(walk.blocked, 0, walk.weight),
      walk.looked + 1
    FROM walk
    CROSS JOIN outbox_message m
    WHERE walk.taken + (walk.blocked = 0) < ?2
      AND walk.bytes + iif(walk.blocked, 0, walk.weight) < ?3
      AND walk.looked < ?4
      AND m.position = (
        SELECT n.position
        FROM outbox_message n
        WHERE n.lane = walk.lane
          AND n.position > walk.position
        ORDER BY n.position
        LIMIT 1
      )
  )
SELECT
  json_group_array(json_array(walk.lane, walk.position, walk.blocked, walk.keyed, walk.weight)) AS looked,
  NULL AS lane,
  NULL AS position,
  NULL AS topic,
  NULL AS key
FROM walk
WHERE walk.looked > 0
UNION ALL
SELECT NULL, h.lane, h.position, h.topic, h.key
FROM json_each(?1) AS given
CROSS JOIN outbox_message h
WHERE h.position = (
  SELECT walk.position
  FROM walk
  WHERE walk.lane = given.value
    AND walk.looked > 0
    AND walk.blocked = 0
  LIMIT 1
)
  AND NOT EXISTS (
    SELECT 1
    FROM walk
    CROSS JOIN outbox_message m
    WHERE walk.lane = h.lane
      AND walk.looked > 0
      AND walk.blocked = 0
      AND m.position = walk.position
      AND NOT (m.topic = h.topic AND m.key IS h.key)
  )
UNION ALL
SELECT NULL, m.lane, m.position, m.topic, m.key
FROM walk
CROSS JOIN outbox_message m
WHERE walk.looked > 0
  AND walk.blocked = 2
  AND walk.keyed
  AND m.position = walk.position
