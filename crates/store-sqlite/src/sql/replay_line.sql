-- Published messages join the line at its tail as new ones: ?1 = [[number, position, headers], ...]. They stay published too. By primary key.
INSERT INTO outbox_message (position, lane, id, topic, key, headers, content_type, attempts, tries, error, saved_at, payload)
SELECT
  given.value ->> 1,
  p.lane,
  p.id,
  p.topic,
  p.key,
  given.value ->> 2,
  p.content_type,
  0,
  0,
  NULL,
  CAST(unixepoch('subsec') * 1000 AS INTEGER),
  p.payload
FROM json_each(?1) AS given
CROSS JOIN outbox_published p
WHERE p.number = given.value ->> 0
