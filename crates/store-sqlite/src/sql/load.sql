-- Reads the chosen messages whole: ?1 = [position, ...] of the line, ?2 of those set aside. By primary key; the marks by theirs.
SELECT
  m.position, m.lane, m.id, m.topic, m.key, m.headers, m.content_type, m.attempts, m.tries, m.payload,
  (
    SELECT count(*)
    FROM outbox_start_mark s
    WHERE s.lane = m.lane
      AND s.position = m.position
  ) AS starts
FROM json_each(?1) AS chosen
CROSS JOIN outbox_message m
WHERE m.position = chosen.value
UNION ALL
SELECT
  w.position, w.lane, w.id, w.topic, w.key, w.headers, w.content_type, w.attempts, w.tries, w.payload,
  (
    SELECT count(*)
    FROM outbox_start_mark s
    WHERE s.lane = w.lane
      AND s.position = w.position
  ) AS starts
FROM json_each(?2) AS chosen
CROSS JOIN outbox_waiting w
WHERE w.position = chosen.value
