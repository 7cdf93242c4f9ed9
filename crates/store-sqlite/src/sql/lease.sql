-- Leases the lanes of ?1 = [[lane, epoch], ...] that are still as they were seen: holder ?2 of relay ?3, for ?4 ms. A lane whose last
-- holder vanished is served carefully, until ?5 messages completed. By the primary key of outbox_lane.
UPDATE outbox_lane
SET epoch = outbox_lane.epoch + 1,
    careful = iif(holder IS NULL, careful, ?5),
    holder = ?2,
    relay = ?3,
    lease_until = CAST(unixepoch('subsec') * 1000 AS INTEGER) + ?4,
    turn = last.turn + 1 + seen.number
FROM (
  SELECT
    given.key AS number,
    given.value ->> 0 AS lane,
    given.value ->> 1 AS epoch
  FROM json_each(?1) AS given
) AS seen
CROSS JOIN (SELECT max(turn) AS turn FROM outbox_lane) AS last
WHERE outbox_lane.lane = seen.lane
  AND outbox_lane.epoch = seen.epoch
  AND (holder IS NULL OR lease_until <= CAST(unixepoch('subsec') * 1000 AS INTEGER))
RETURNING
  lane,
  epoch,
  careful,
  ahead,
  CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now
