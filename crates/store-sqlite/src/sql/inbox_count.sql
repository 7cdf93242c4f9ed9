-- How many ids were handled at least ?1 ms ago, up to ?2. Served by outbox_inbox_handled.
SELECT count(*) AS ids
FROM (
  SELECT 1
  FROM outbox_inbox i
  WHERE i.handled_at <= CAST(unixepoch('subsec') * 1000 AS INTEGER) - ?1
  LIMIT ?2
)
