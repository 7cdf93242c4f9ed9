-- Moves what fell due by ?2 into the line, at most ?3 of each of the lanes ?1 = [lane, ...]; first half, see promote_delete.sql.
-- Served by outbox_scheduled_due, then by primary key.
INSERT INTO outbox_message (position, lane, id, topic, key, headers, content_type, attempts, tries, error, saved_at, payload)
SELECT r.position, r.lane, r.id, r.topic, r.key, r.headers, r.content_type, r.attempts, r.tries, r.error, r.saved_at, r.payload
FROM json_each(?1) AS given
CROSS JOIN outbox_scheduled r
WHERE r.position IN (
  SELECT s.position
  FROM outbox_scheduled s
  WHERE s.lane = given.value
    AND s.due_at <= ?2
  ORDER BY s.due_at
  LIMIT ?3
)
RETURNING position
