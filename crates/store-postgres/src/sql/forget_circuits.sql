-- Removes circuits whose next probe is overdue by more than $1 ms, and answers how many. It reads the table, which has a row for each destination and
-- relay.
WITH gone AS (
  DELETE FROM outbox.destination_state
  WHERE next_probe < now() - make_interval(secs => $1::bigint / 1000.0)
  RETURNING true
)
SELECT count(*)
FROM gone
