-- The messages 1 to ?1 of the key ?4 of topic ?3, in lane ?2, set aside behind their head.
WITH RECURSIVE counted (position) AS (
  SELECT 1
  UNION ALL
  SELECT position + 1 FROM counted WHERE position < ?1
)
INSERT INTO outbox_waiting (position, lane, id, topic, key, attempts, tries, saved_at, payload)
SELECT
  position,
  ?2,
  'bench-' || position,
  ?3,
  ?4,
  position = 1,
  position = 1,
  0,
  CAST('{"number":' || position || ',"total":9900,"currency":"EUR","note":"one of many"}' AS BLOB)
FROM counted;
