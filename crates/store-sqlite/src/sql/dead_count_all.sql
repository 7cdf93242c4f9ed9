-- How many dead letters there are, and the last position among them. By primary key, all of them.
SELECT count(*) AS count, max(position) AS last
FROM outbox_dead
WHERE (?1 IS NULL OR id = ?1)
  AND (?2 IS NULL OR topic = ?2)
  AND (?3 IS NULL OR key = ?3)
  AND (?4 IS NULL OR reason = ?4)
  AND (?5 IS NULL OR died_at <= CAST(unixepoch('subsec') * 1000 AS INTEGER) - ?5)
