-- Ends the care of the lanes of ?1 = [[lane, epoch], ...] of which nothing is due, and with it a lease that ran out on a holder.
-- By the primary key of outbox_lane.
UPDATE outbox_lane
SET epoch = outbox_lane.epoch + 1,
    careful = 0,
    holder = NULL,
    relay = NULL,
    lease_until = 0
FROM (
  SELECT
    given.value ->> 0 AS lane,
    given.value ->> 1 AS epoch
  FROM json_each(?1) AS given
) AS seen
WHERE outbox_lane.lane = seen.lane
  AND outbox_lane.epoch = seen.epoch
  AND (holder IS NULL OR lease_until <= CAST(unixepoch('subsec') * 1000 AS INTEGER))
