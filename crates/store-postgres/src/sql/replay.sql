-- Saves published messages again, which stay published too: $1 when they were published in us, $2 their positions, $3 the headers of the new ones. They join the line at positions
-- drawn in the order given, as a save does, and no lane is locked. By the primary keys of the partitions.
INSERT INTO outbox.message (position, lane, id, topic, key, content_type, headers, payload)
SELECT outbox.next_position(), l.lane, l.id, l.topic, l.key, l.content_type, l.marked::json, l.payload
FROM (
  SELECT p.lane, p.id, p.topic, p.key, p.content_type, g.headers AS marked, p.payload
  FROM unnest($1::bigint[], $2::bigint[], $3::text[]) WITH ORDINALITY AS g (at, position, headers, n)
  CROSS JOIN LATERAL (
    SELECT *
    FROM outbox.published l
    WHERE l.published_at = timestamptz 'epoch' + make_interval(secs => g.at / 1000000.0)
      AND l.position = g.position
    OFFSET 0
  ) AS p
  ORDER BY g.n
) AS l
RETURNING position
