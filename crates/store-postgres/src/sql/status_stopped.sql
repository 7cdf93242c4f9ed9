-- The topics that are stopped, or of which something is still to be freed, for people. It reads the table, which has a row for each of them.
SELECT
  t.topic,
  t.cause,
  (extract(epoch FROM t.stopped_at) * 1000)::bigint,
  CASE
    WHEN t.until = '-infinity' THEN 0
    WHEN isfinite(t.until) THEN (extract(epoch FROM t.until) * 1000)::bigint
  END,
  t.destination,
  t.relay,
  t.error
FROM outbox.topic_state t
ORDER BY t.topic
