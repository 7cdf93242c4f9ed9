-- Messages into the line: ?1 holds their texts, ?2 their payloads one after another, ?3 is the clock.
INSERT INTO outbox_message (position, lane, id, topic, key, headers, content_type, saved_at, payload)
SELECT
  given.value ->> 0,
  coalesce(given.value ->> 1, random() & 7),
  given.value ->> 2,
  given.value ->> 3,
  given.value ->> 4,
  given.value ->> 5,
  given.value ->> 6,
  ?3,
  substr(?2, given.value ->> 8, given.value ->> 9)
FROM json_each(?1) AS given
