-- Messages into the line, at positions that are drawn in the order given: unnest gives its rows in the order of the arrays, and nothing between it and the insert
-- changes that. Answers one row, with the positions. Without a key a message goes into any lane. Unlike save_all.sql it needs no right on saved_id.
-- $8 says whether relays that listen are told of $9, unless they look all the time anyway (quiet); the server does so once for all saves of a transaction.
WITH saved AS (
  INSERT INTO outbox.message (position, lane, id, topic, key, content_type, headers, payload)
  SELECT
    outbox.next_position(),
    coalesce(u.lane, floor(random() * 64)::bigint)::smallint,
    u.id,
    u.topic,
    u.key,
    u.content_type,
    u.headers::json,
    u.payload
  FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[])
    AS u (lane, id, topic, key, content_type, headers, payload)
  RETURNING position
)
SELECT
  string_agg(int8send(s.position), ''),
  CASE WHEN $8::boolean THEN (
    SELECT pg_notify('outbox', $9::text) IS NULL
    FROM outbox.quiet q
    WHERE q.last_value < (date_part('epoch', clock_timestamp()) * 1000)::bigint
  ) END
FROM saved s
