-- Deletes at most $2 messages published more than $1 ms ago, oldest first, whatever partition they are in, and answers how many. Served by the primary
-- keys of the partitions.
WITH
  old AS MATERIALIZED (
    SELECT p.published_at, p.position
    FROM outbox.published p
    WHERE p.published_at <= now() - make_interval(secs => $1::bigint / 1000.0)
    ORDER BY p.published_at, p.position
    LIMIT $2::bigint
  ),
  gone AS (
    DELETE FROM outbox.published p
    USING old o
    WHERE p.published_at = o.published_at
      AND p.position = o.position
    RETURNING true
  )
SELECT count(*)
FROM gone
