-- Removes confirmed messages where lane, position and id match: ?1 = [[position, id, lane], ...]. By primary key.
DELETE FROM outbox_scheduled
WHERE position IN (
  SELECT m.position
  FROM json_each(?1) AS given
  CROSS JOIN outbox_scheduled m
  WHERE m.position = given.value ->> 0
    AND m.id = given.value ->> 1
    AND m.lane = given.value ->> 2
)
RETURNING position
