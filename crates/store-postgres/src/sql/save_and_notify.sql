-- As save.sql, and tells relays that listen of schema $8, unless they look all the time anyway (quiet); the server does so once for all saves of a transaction. A
-- statement of its own, since even a part of a statement that never runs is made ready each time.
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
  (
    SELECT pg_notify('outbox', $8::text) IS NULL
    FROM outbox.quiet q
    WHERE q.last_value < (date_part('epoch', clock_timestamp()) * 1000)::bigint
  )
