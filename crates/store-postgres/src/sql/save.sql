-- One message into the line, at a position that its column draws. Without a key it goes into any lane.
-- $8 says whether relays that listen are told of $9, unless they look all the time anyway (quiet); the server does so once for all saves of a transaction.
INSERT INTO outbox.message (lane, id, topic, key, content_type, headers, payload)
VALUES (
  coalesce($1::bigint, floor(random() * 64)::bigint)::smallint,
  $2::text,
  $3::text,
  $4::text,
  $5::text,
  $6::text::json,
  $7::bytea
)
RETURNING
  position,
  CASE WHEN $8::boolean THEN (
    SELECT pg_notify('outbox', $9::text) IS NULL
    FROM outbox.quiet q
    WHERE q.last_value < (extract(epoch FROM clock_timestamp()) * 1000)::bigint
  ) END
