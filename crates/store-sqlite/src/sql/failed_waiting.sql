-- Counts failures of messages that still have the tries they were claimed with: ?1 = [[position, lane, tries, counted, error], ...]. By primary key.
UPDATE outbox_waiting
SET attempts = min(outbox_waiting.attempts + given.counted, 4294967295),
    tries = min(outbox_waiting.tries + 1, 4294967295),
    error = given.error
FROM (
  SELECT
    value ->> 0 AS position,
    value ->> 1 AS lane,
    value ->> 2 AS tries,
    value ->> 3 AS counted,
    value ->> 4 AS error
  FROM json_each(?1)
) AS given
WHERE outbox_waiting.position = given.position
  AND outbox_waiting.lane = given.lane
  AND outbox_waiting.tries = given.tries
RETURNING position
