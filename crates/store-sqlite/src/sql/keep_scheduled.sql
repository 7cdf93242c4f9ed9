-- Keeps confirmed messages as published, before they are removed, where lane, position and id match: ?1 = [[position, id, lane], ...]. By primary key.
INSERT INTO outbox_published (position, lane, id, topic, key, headers, content_type, attempts, tries, error, saved_at, published_at, payload)
SELECT
  m.position,
  m.lane,
  m.id,
  m.topic,
  m.key,
  m.headers,
  m.content_type,
  m.attempts,
  m.tries,
  m.error,
  m.saved_at,
  CAST(unixepoch('subsec') * 1000 AS INTEGER),
  m.payload
FROM json_each(?1) AS given
CROSS JOIN outbox_scheduled m
WHERE m.position = given.value ->> 0
  AND m.id = given.value ->> 1
  AND m.lane = given.value ->> 2
