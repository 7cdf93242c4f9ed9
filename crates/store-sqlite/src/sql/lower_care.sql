-- Lowers the care of lanes by what completed in them: ?1 = [[lane, how many], ...]. By the primary key of outbox_lane.
UPDATE outbox_lane
SET careful = max(careful - done.completed, 0)
FROM (
  SELECT
    value ->> 0 AS lane,
    value ->> 1 AS completed
  FROM json_each(?1)
) AS done
WHERE outbox_lane.lane = done.lane
