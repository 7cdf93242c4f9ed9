-- A page of dead letters by position: after ?4, up to ?5, at most ?6. Served by outbox_dead_key.
SELECT position, lane, topic, key
FROM outbox_dead
WHERE (?1 IS NULL OR id = ?1)
  AND topic = ?2
  AND key = ?3
  AND position > ?4
  AND position <= ?5
  AND (?7 IS NULL OR reason = ?7)
  AND (?8 IS NULL OR died_at <= CAST(unixepoch('subsec') * 1000 AS INTEGER) - ?8)
ORDER BY position
LIMIT ?6
