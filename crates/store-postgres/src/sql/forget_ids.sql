-- Forgets at most $1 ids whose remembered time is over, and answers how many; those that a save is renewing are left alone. Served by saved_id_expires.
WITH gone AS (
  DELETE FROM outbox.saved_id
  WHERE ctid = ANY (ARRAY(
    SELECT s.ctid
    FROM outbox.saved_id s
    WHERE s.expires_at <= now()
    ORDER BY s.expires_at
    LIMIT $1::bigint
    FOR UPDATE SKIP LOCKED
  ))
  RETURNING true
)
SELECT count(*)
FROM gone
