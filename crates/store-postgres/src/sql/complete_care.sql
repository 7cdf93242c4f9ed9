-- Lowers the care of the lanes $1 by the $2 messages that completed in each, and deletes all their start marks: nothing of them is in a row any more. The
-- lanes are locked. By the primary keys of lane and start_mark.
WITH unmarked AS (
  DELETE FROM outbox.start_mark
  WHERE lane = ANY (ARRAY(SELECT g.lane::smallint FROM unnest($1::bigint[]) AS g (lane)))
)
UPDATE outbox.lane l
SET careful = greatest(l.careful - g.completed, 0)
FROM unnest($1::bigint[], $2::bigint[]) AS g (lane, completed)
WHERE l.lane = g.lane::smallint
