-- Reads the waiting messages of due keys without payloads, in turn one of each key: ?1 = [[first position, last position allowed, how many], ...], at
-- most ?2 altogether. Served by the primary key and outbox_waiting_key.
WITH RECURSIVE
  walk (position, head, frontier, run) AS (
    SELECT value ->> 0, value ->> 0, value ->> 1, value ->> 2
    FROM json_each(?1)
    UNION ALL
    SELECT next.position, walk.head, walk.frontier, walk.run - 1
    FROM walk
    CROSS JOIN outbox_waiting this
    CROSS JOIN outbox_waiting next
    WHERE walk.run > 1
      AND this.position = walk.position
      AND next.position = (
        SELECT n.position
        FROM outbox_waiting n
        WHERE n.topic = this.topic
          AND n.key = this.key
          AND n.position > this.position
        ORDER BY n.position
        LIMIT 1
      )
      AND next.position <= walk.frontier
    LIMIT ?2
  )
SELECT
  w.lane,
  w.position,
  walk.head,
  octet_length(w.payload)
    + coalesce(octet_length(w.headers), 0)
    + octet_length(w.id)
    + octet_length(w.topic)
    + octet_length(w.key)
    + coalesce(octet_length(w.content_type), 0) AS weight
FROM walk
CROSS JOIN outbox_waiting w
WHERE w.position = walk.position
