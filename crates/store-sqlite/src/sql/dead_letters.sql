-- The dead letters ?1 = [position, ...] by position, with their payloads if ?2. By primary key.
SELECT
  d.position, d.lane, d.id, d.topic, d.key, d.headers, d.content_type, d.attempts, d.tries, d.reason, d.error, d.after, d.saved_at, d.died_at,
  octet_length(d.payload) AS payload_len,
  iif(?2, d.payload, NULL) AS payload
FROM json_each(?1) AS given
CROSS JOIN outbox_dead d
WHERE d.position = given.value
ORDER BY given.key
