-- How many dead letters there are, and the last position among them. Served by outbox_dead_key.
SELECT count(*) AS count, max(position) AS last
FROM outbox_dead
WHERE (?1 IS NULL OR id = ?1)
  AND topic = ?2
  AND key = ?3
  AND (?4 IS NULL OR reason = ?4)
  AND (?5 IS NULL OR died_at <= CAST(unixepoch('subsec') * 1000 AS INTEGER) - ?5)
