-- How many dead letters there are, and the last position among them: of the id $1, the topic $2 and the key $3, for the reason $4, at least $5 ms ago. Served by dead_id.
SELECT count(*), max(d.position)
FROM outbox.dead d
WHERE d.id = $1::text
  AND ($2::text IS NULL OR d.topic = $2)
  AND ($3::text IS NULL OR d.key = $3)
  AND ($4::text IS NULL OR d.reason = $4)
  AND ($5::bigint IS NULL OR d.died_at <= clock_timestamp() - make_interval(secs => $5 / 1000.0))
