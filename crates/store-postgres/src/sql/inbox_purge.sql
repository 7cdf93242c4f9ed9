-- Forgets at most $2 ids that were handled at least $1 ms ago, oldest first, and answers how many; those that a transaction forgets by itself are left alone.
-- Served by inbox_handled.
WITH gone AS (
  DELETE FROM outbox.inbox
  WHERE ctid = ANY (ARRAY(
    SELECT i.ctid
    FROM outbox.inbox i
    WHERE i.handled_at <= now() - make_interval(secs => $1::bigint / 1000.0)
    ORDER BY i.handled_at
    LIMIT $2::bigint
    FOR UPDATE SKIP LOCKED
  ))
  RETURNING true
)
SELECT count(*)
FROM gone
