-- Deletes the start marks of the messages ?1 = [[lane, position], ...]. By primary key.
DELETE FROM outbox_start_mark
WHERE (lane, position) IN (
  SELECT value ->> 0, value ->> 1
  FROM json_each(?1)
)
