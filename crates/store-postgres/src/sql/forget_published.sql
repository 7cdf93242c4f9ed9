-- Deletes at most $2 messages published more than $1 ms ago that have no partition of their day, oldest first, and answers how many. Served by the primary
-- key of published_default.
WITH gone AS (
  DELETE FROM outbox.published_default
  WHERE ctid = ANY (ARRAY(
    SELECT p.ctid
    FROM outbox.published_default p
    WHERE p.published_at <= now() - make_interval(secs => $1::bigint / 1000.0)
    ORDER BY p.published_at, p.position
    LIMIT $2::bigint
  ))
  RETURNING true
)
SELECT count(*)
FROM gone
