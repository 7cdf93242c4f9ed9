-- The dead letters $1 = positions, by position, with their payloads if $2. By primary key: OFFSET keeps the planner from walking all of it, which needs no sort.
SELECT
  d.position,
  d.id,
  d.topic,
  d.key,
  d.headers,
  d.content_type,
  d.attempts,
  d.tries,
  d.reason,
  d.error,
  d.after,
  (extract(epoch FROM d.saved_at) * 1000)::bigint,
  (extract(epoch FROM d.died_at) * 1000)::bigint,
  octet_length(d.payload),
  CASE WHEN $2::boolean THEN d.payload END
FROM unnest($1::bigint[]) AS given (position)
CROSS JOIN LATERAL (SELECT * FROM outbox.dead l WHERE l.position = given.position OFFSET 0) AS d
ORDER BY d.position
