-- The clock, and the last number of what is published. By primary key.
SELECT
  CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now,
  (SELECT max(number) FROM outbox_published) AS last
