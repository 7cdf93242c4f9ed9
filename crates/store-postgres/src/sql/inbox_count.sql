-- How many ids were handled at least $1 ms ago, up to $2. Served by inbox_handled.
SELECT count(*)
FROM (
  SELECT
  FROM outbox.inbox i
  WHERE i.handled_at <= now() - make_interval(secs => $1::bigint / 1000.0)
  LIMIT $2::bigint
) AS i
