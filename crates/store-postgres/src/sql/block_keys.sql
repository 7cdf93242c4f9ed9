-- Blocks the keys $3 of the topics $2 in the lanes $1, each for its message at the position $4: for a retry in $5 ms, or, where that is NULL, until an
-- operator acts on the dead letter. A key that a dead letter holds stays held. A key is given once. The lanes are locked. By the primary key of blocked_key.
INSERT INTO outbox.blocked_key AS b (lane, topic, key, until, reason, position)
SELECT
  g.lane::smallint,
  g.topic,
  g.key,
  CASE WHEN g.delay IS NULL THEN 'infinity' ELSE clock_timestamp() + make_interval(secs => g.delay / 1000.0) END,
  CASE WHEN g.delay IS NULL THEN 'dead' ELSE 'retry' END,
  g.position
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[]) AS g (lane, topic, key, position, delay)
ON CONFLICT (topic, key) DO UPDATE
SET until = excluded.until,
    reason = excluded.reason,
    position = excluded.position
WHERE b.reason <> 'dead'
