-- One message into the line, at a position that its column draws. Without a key it goes into any lane.
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
RETURNING position
