-- Looks at published messages in the order of publishing: after $1 us and the position $2, up to $3 us (now if NULL) and $4, at most $5. Answers for each its place, whether
-- it is of the id $6, the topic $7 and the key $8, if so its headers, and where the walk ends. Served by the primary keys of the partitions, merged: each row that is looked at
-- is read without its payload, whether it matches or not, and days before $1 are not visited.
SELECT
  (extract(epoch FROM p.published_at) * 1000000)::bigint,
  p.position,
  p.matches,
  CASE WHEN p.matches THEN p.headers END,
  coalesce($3::bigint, (extract(epoch FROM statement_timestamp()) * 1000000)::bigint)
FROM (
  SELECT
    l.published_at,
    l.position,
    l.headers,
    ($6::text IS NULL OR l.id = $6)
      AND ($7::text IS NULL OR l.topic = $7)
      AND ($8::text IS NULL OR l.key IS NOT DISTINCT FROM $8) AS matches
  FROM outbox.published l
  WHERE l.published_at >= timestamptz 'epoch' + make_interval(secs => $1::bigint / 1000000.0)
    AND (l.published_at, l.position) > (timestamptz 'epoch' + make_interval(secs => $1::bigint / 1000000.0), $2::bigint)
    AND (l.published_at, l.position) <= (coalesce(timestamptz 'epoch' + make_interval(secs => $3::bigint / 1000000.0), statement_timestamp()), $4::bigint)
  ORDER BY l.published_at, l.position
  LIMIT $5::bigint
) AS p
ORDER BY p.published_at, p.position
