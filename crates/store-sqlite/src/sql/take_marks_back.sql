-- Deletes single start marks: ?1 = [[lane, position, holder], ...]. By primary key.
DELETE FROM outbox_start_mark
WHERE (lane, position, holder) IN (
  SELECT value ->> 0, value ->> 1, value ->> 2
  FROM json_each(?1)
)
