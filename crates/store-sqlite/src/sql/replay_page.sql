-- Looks at published messages in the order of publishing, after ?1 ms and number ?2, up to ?3 and ?4, at most ?5: says of each whether it is of the id ?6, the topic
-- ?7 and the key ?8, and of those the headers. Served by outbox_published_at, which has the numbers in order; payloads are not read.
SELECT
  published_at,
  number,
  (?6 IS NULL OR id = ?6) AND (?7 IS NULL OR topic = ?7) AND (?8 IS NULL OR key IS ?8) AS matches,
  headers
FROM outbox_published
WHERE (published_at, number) > (?1, ?2)
  AND (published_at, number) <= (?3, ?4)
ORDER BY published_at, number
LIMIT ?5
