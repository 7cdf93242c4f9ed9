-- Lines of the audit before $1, the newest first, at most $2. By primary key.
SELECT
  a.number,
  a.command,
  a.action,
  a.who,
  a.filter,
  (extract(epoch FROM a.began_at) * 1000)::bigint,
  (extract(epoch FROM a.ended_at) * 1000)::bigint,
  a.steps,
  a.count
FROM outbox.audit a
WHERE a.number < $1::bigint
ORDER BY a.number DESC
LIMIT $2::bigint
