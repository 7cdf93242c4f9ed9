-- $1 messages of topic $3 over $2 keys in turn, or without keys, spread over the lanes, as the store's writer does it.
INSERT INTO outbox.message (lane, id, topic, key, payload)
SELECT
  coalesce(outbox.lane_of($3::text, n.key), n.n % 64),
  'bench-' || n.n,
  $3::text,
  n.key,
  convert_to('{"number":' || n.n || ',"total":9900,"currency":"EUR","note":"one of many"}', 'UTF8')
FROM (
  SELECT n, 'order-' || n % $2::bigint AS key
  FROM generate_series(1, $1::bigint) AS n
) AS n
