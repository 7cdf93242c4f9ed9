-- $1 messages of the key $3 of topic $2, set aside behind their head.
INSERT INTO outbox.waiting (position, lane, id, topic, key, attempts, tries, saved_at, payload)
SELECT
  outbox.next_position(),
  outbox.lane_of($2::text, $3::text),
  'bench-' || n,
  $2::text,
  $3::text,
  (n = 1)::int,
  (n = 1)::int,
  now(),
  convert_to('{"number":' || n || ',"total":9900,"currency":"EUR","note":"one of many"}', 'UTF8')
FROM generate_series(1, $1::bigint) AS n
