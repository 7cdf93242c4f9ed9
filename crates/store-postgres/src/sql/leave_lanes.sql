-- Gives back the lanes $1 that gave nothing: their token changes. One that could not be served gets the turn $2 back, so that it comes first again. By the primary
-- key of lane; the lanes are locked.
UPDATE outbox.lane l
SET epoch = l.epoch + 1,
    holder = NULL,
    relay = NULL,
    lease_until = '-infinity',
    turn = coalesce(g.turn, l.turn)
FROM unnest($1::bigint[], $2::bigint[]) AS g (lane, turn)
WHERE l.lane = g.lane::smallint
