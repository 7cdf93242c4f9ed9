-- Walks the line of lane ?1 behind position ?2 until it meets a message that is not of the ordering key of the message at ?3, or looked at
-- ?4 rows. Served by outbox_message_lane and the primary key.
WITH RECURSIVE
  walk (position, other, looked) AS (
    SELECT ?2, 0, 0
    UNION ALL
    SELECT
      m.position,
      NOT (m.topic = head.topic AND m.key IS head.key),
      walk.looked + 1
    FROM walk
    CROSS JOIN outbox_message head
    CROSS JOIN outbox_message m
    WHERE walk.other = 0
      AND walk.looked < ?4
      AND head.position = ?3
      AND m.position = (
        SELECT n.position
        FROM outbox_message n
        WHERE n.lane = ?1
          AND n.position > walk.position
        ORDER BY n.position
        LIMIT 1
      )
  )
SELECT
  max(iif(other, NULL, position)) AS ahead,
  max(other) AS other
FROM walk
