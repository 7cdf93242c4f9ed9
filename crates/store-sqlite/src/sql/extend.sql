-- Makes the leases of the tokens ?1 = [[lane, epoch, holder], ...] end in ?2 ms. By the primary key of outbox_lane.
UPDATE outbox_lane
SET lease_until = CAST(unixepoch('subsec') * 1000 AS INTEGER) + ?2
FROM (
  SELECT
    value ->> 0 AS lane,
    value ->> 1 AS epoch,
    value ->> 2 AS holder
  FROM json_each(?1)
) AS given
WHERE outbox_lane.lane = given.lane
  AND outbox_lane.epoch = given.epoch
  AND outbox_lane.holder = given.holder
RETURNING
  lane,
  epoch
