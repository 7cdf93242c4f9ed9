-- A page of dead letters by position: of the id $1, the topic $2 and the key $3, after $4, up to $5, at most $6, for the reason $7, that died at least $8 ms ago. Answers each with the lane where it sits
-- and the one where it belongs. By primary key: it walks on from $4 until it has enough.
SELECT
  d.position,
  d.lane,
  CASE WHEN d.key IS NULL THEN d.lane ELSE outbox.lane_of(d.topic, d.key) END AS home
FROM outbox.dead d
WHERE ($1::text IS NULL OR d.id = $1)
  AND ($2::text IS NULL OR d.topic = $2)
  AND ($3::text IS NULL OR d.key = $3)
  AND d.position > $4::bigint
  AND d.position <= $5::bigint
  AND ($7::text IS NULL OR d.reason = $7)
  AND ($8::bigint IS NULL OR d.died_at <= clock_timestamp() - make_interval(secs => $8 / 1000.0))
ORDER BY d.position
LIMIT $6::bigint
