-- Reads the chosen messages whole: ?1 = [position, ...] of the line, ?2 of those set aside. By primary key; the marks by theirs. numbers = [position, attempts,
-- tries, starts]: each value of a row is copied for the caller.
SELECT
  m.lane, m.id, m.topic, m.key, m.headers, m.content_type, m.payload,
  json_array(m.position, m.attempts, m.tries, (
    SELECT count(*)
    FROM outbox_start_mark s
    WHERE s.lane = m.lane
      AND s.position = m.position
  )) AS numbers
FROM json_each(?1) AS chosen
CROSS JOIN outbox_message m
WHERE m.position = chosen.value
UNION ALL
SELECT
  w.lane, w.id, w.topic, w.key, w.headers, w.content_type, w.payload,
  json_array(w.position, w.attempts, w.tries, (
    SELECT count(*)
    FROM outbox_start_mark s
    WHERE s.lane = w.lane
      AND s.position = w.position
  )) AS numbers
FROM json_each(?2) AS chosen
CROSS JOIN outbox_waiting w
WHERE w.position = chosen.value
