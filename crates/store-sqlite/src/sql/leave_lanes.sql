-- Ends a claim's work on its lanes: ?1 = [[lane, released, turn, ahead], ...]. A released lane changes its token; one that could not be served gets
-- its old turn back. By the primary key of outbox_lane.
UPDATE outbox_lane
SET epoch = epoch + done.released,
    holder = iif(done.released, NULL, holder),
    relay = iif(done.released, NULL, relay),
    lease_until = iif(done.released, 0, lease_until),
    turn = coalesce(done.turn, outbox_lane.turn),
    ahead = done.ahead
FROM (
  SELECT
    value ->> 0 AS lane,
    value ->> 1 AS released,
    value ->> 2 AS turn,
    value ->> 3 AS ahead
  FROM json_each(?1)
) AS done
WHERE outbox_lane.lane = done.lane
