-- Checks the tokens of ?1 = [[lane, epoch, holder, release], ...], and gives back the lanes that are to be given back: their token changes, and they go to
-- the end of the turns. By the primary key of outbox_lane; the marks by theirs.
UPDATE outbox_lane
SET epoch = outbox_lane.epoch + given.release,
    holder = iif(given.release, NULL, outbox_lane.holder),
    relay = iif(given.release, NULL, relay),
    lease_until = iif(given.release, 0, lease_until),
    turn = iif(given.release, last.turn + 1 + given.number, outbox_lane.turn)
FROM (
  SELECT
    key AS number,
    value ->> 0 AS lane,
    value ->> 1 AS epoch,
    value ->> 2 AS holder,
    value ->> 3 AS release
  FROM json_each(?1)
) AS given
CROSS JOIN (SELECT max(turn) AS turn FROM outbox_lane) AS last
WHERE outbox_lane.lane = given.lane
  AND outbox_lane.epoch = given.epoch
  AND outbox_lane.holder = given.holder
RETURNING
  lane,
  careful,
  EXISTS (
    SELECT 1
    FROM outbox_start_mark s
    WHERE s.lane = outbox_lane.lane
  ) AS marked,
  CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now
