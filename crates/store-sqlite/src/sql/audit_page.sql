-- Lines of the audit before ?1, the newest first, at most ?2. By primary key.
SELECT number, command, action, who, filter, began_at, ended_at, steps, count
FROM outbox_audit
WHERE number < ?1
ORDER BY number DESC
LIMIT ?2
