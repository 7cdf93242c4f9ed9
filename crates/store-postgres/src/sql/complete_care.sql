-- Lowers the care of the lanes $1 by the $2 messages that completed in each, and deletes all their start marks: nothing of them is in a row any more. The
-- lanes are locked. By the primary keys of lane and start_mark.
WITH unmarked AS (
  DELETE FROM outbox.start_mark
  WHERE lane = ANY (ARRAY(SELECT g.lane::smallint FROM unnest($1::bigint[]) AS g (lane)))
)
UPDATE outbox.lane l
SET careful = greatest(l.careful - g.completed, 0)
FROM (
  SELECT
    g.lane::smallint AS lane,
    g.completed,
    (
      SELECT n.epoch
      FROM outbox.lane n
      WHERE n.lane = g.lane::smallint
      ORDER BY n.lane DESC, n.epoch DESC
      LIMIT 1
    ) AS epoch
  FROM unnest($1::bigint[], $2::bigint[]) AS g (lane, completed)
  OFFSET 0
) AS g
WHERE l.lane = g.lane
  AND l.epoch = g.epoch
