-- Locks the lanes $1, in the order in which everybody locks lanes. What stands in them is read by later statements: after a wait for the lock they
-- see what its holder did, this one does not. By primary key.
SELECT
  l.lane,
  (SELECT v.version FROM outbox.schema_version v WHERE v.one)
FROM (SELECT DISTINCT given.lane::smallint AS lane FROM unnest($1::bigint[]) AS given (lane) ORDER BY 1) AS g
CROSS JOIN LATERAL (
  SELECT l.lane
  FROM outbox.lane l
  WHERE l.lane = g.lane
  ORDER BY l.lane DESC, l.epoch DESC
  LIMIT 1
  FOR UPDATE
) AS l
