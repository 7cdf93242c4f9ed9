-- Gives back the lanes $1 that gave nothing: their token changes. One that could not be served gets the turn $2 back, so that it comes first again. By the primary
-- key of lane; the lanes are locked.
UPDATE outbox.lane l
SET epoch = l.epoch + 1,
    holder = NULL,
    relay = NULL,
    lease_until = '-infinity',
    turn = coalesce(g.turn, l.turn)
FROM (
  SELECT
    g.lane::smallint AS lane,
    g.turn,
    (
      SELECT n.epoch
      FROM outbox.lane n
      WHERE n.lane = g.lane::smallint
      ORDER BY n.lane DESC, n.epoch DESC
      LIMIT 1
    ) AS epoch
  FROM unnest($1::bigint[], $2::bigint[]) AS g (lane, turn)
  OFFSET 0
) AS g
WHERE l.lane = g.lane
  AND l.epoch = g.epoch
