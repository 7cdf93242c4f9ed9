-- The messages after position ?1 up to ?2, over ?3 keys in turn, of topic ?4.
WITH RECURSIVE counted (position) AS (
  SELECT ?1 + 1
  UNION ALL
  SELECT position + 1 FROM counted WHERE position < ?2
)
INSERT INTO outbox_message (position, lane, id, topic, key, payload)
SELECT
  counted.position,
  bench_key.lane,
  'bench-' || counted.position,
  ?4,
  bench_key.key,
  CAST('{"number":' || counted.position || ',"total":9900,"currency":"EUR","note":"one of many"}' AS BLOB)
FROM counted
JOIN bench_key ON bench_key.number = counted.position % ?3;
