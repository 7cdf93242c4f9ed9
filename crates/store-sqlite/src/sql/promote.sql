-- Moves what fell due by ?3 into the line, at most ?4 of each of the lanes ?1 and ?2; first half, see promote_delete.sql.
-- Served by outbox_scheduled_due, then by primary key.
INSERT INTO outbox_message (position, lane, id, topic, key, headers, content_type, attempts, tries, error, saved_at, payload)
SELECT position, lane, id, topic, key, headers, content_type, attempts, tries, error, saved_at, payload
FROM outbox_scheduled
WHERE position IN (
  SELECT position
  FROM (
    SELECT s.position
    FROM outbox_scheduled s
    WHERE s.lane = ?1
      AND s.due_at <= ?3
    ORDER BY s.due_at
    LIMIT ?4
  )
  UNION ALL
  SELECT position
  FROM (
    SELECT s.position
    FROM outbox_scheduled s
    WHERE s.lane = ?2
      AND s.due_at <= ?3
    ORDER BY s.due_at
    LIMIT ?4
  )
)
RETURNING position
