CREATE OR REPLACE VIEW outbox.pending AS
SELECT
  NULL::bigint AS position,
  NULL::text AS state,
  NULL::boolean AS ready,
  NULL::timestamptz AS due_at,
  NULL::text AS blocked,
  NULL::text COLLATE "C" AS topic,
  NULL::text COLLATE "C" AS key,
  NULL::text COLLATE "C" AS id,
  NULL::bigint AS attempts,
  NULL::bigint AS tries,
  NULL::text AS error,
  NULL::timestamptz AS saved_at,
  NULL::smallint AS lane,
  NULL::text COLLATE "C" AS content_type,
  NULL::json AS headers,
  NULL::text AS payload_text,
  NULL::bytea AS payload,
  NULL::text AS stopped;

-- Whether a row has what relays rely on; one that has not is refused by the name of the rule that it breaks. As in a CHECK, what is NULL passes.
CREATE FUNCTION outbox.check_row(
  "position" bigint,
  attempts bigint,
  tries bigint,
  saved_at timestamptz,
  lane smallint,
  id text,
  topic text,
  key text,
  content_type text,
  headers json,
  payload bytea
) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
  rule CONSTANT text := CASE
    WHEN "position" < 1 THEN 'position_check'
    WHEN attempts NOT BETWEEN 0 AND 4294967295 THEN 'attempts_check'
    WHEN tries NOT BETWEEN 0 AND 4294967295 THEN 'tries_check'
    WHEN NOT isfinite(saved_at) THEN 'saved_at_check'
    WHEN lane NOT BETWEEN 0 AND 63 THEN 'lane_check'
    WHEN octet_length(id) NOT BETWEEN 1 AND 255 THEN 'id_check'
    WHEN octet_length(topic) NOT BETWEEN 1 AND 255 OR topic COLLATE "C" ~ '[\u0001-\u001f\u007f-\u009f]' THEN 'topic_check'
    WHEN octet_length(key) NOT BETWEEN 1 AND 1024 THEN 'key_check'
    WHEN lane <> outbox.lane_of(topic, key) THEN 'lane_of_key'
    WHEN octet_length(content_type) NOT BETWEEN 1 AND 255 THEN 'content_type_check'
    WHEN octet_length(headers::text) > 1048576 OR NOT outbox.are_headers(headers) THEN 'headers_check'
    WHEN octet_length(payload) > 67108864 THEN 'payload_check'
  END;
BEGIN
  IF rule IS NULL THEN
    RETURN true;
  END IF;
  RAISE EXCEPTION 'the row at position % breaks "%"', "position", rule
  USING ERRCODE = 'check_violation', CONSTRAINT = rule, HINT = CASE rule
    WHEN 'position_check' THEN 'A position is greater than 0; the default of the column draws one.'
    WHEN 'attempts_check' THEN 'Attempts are from 0 to 4294967295.'
    WHEN 'tries_check' THEN 'Tries are from 0 to 4294967295.'
    WHEN 'saved_at_check' THEN 'The time of saving is finite.'
    WHEN 'lane_check' THEN 'A lane is from 0 to 63.'
    WHEN 'id_check' THEN 'An id has 1 to 255 bytes.'
    WHEN 'topic_check' THEN 'A topic has 1 to 255 bytes, and no control character.'
    WHEN 'key_check' THEN 'A key has 1 to 1024 bytes; it is NULL if there is none.'
    WHEN 'lane_of_key' THEN 'The lane of a message with a key is outbox.lane_of(topic, key).'
    WHEN 'content_type_check' THEN 'A content type has 1 to 255 bytes; it is NULL if there is none.'
    WHEN 'headers_check' THEN
      'Headers are a JSON array of [name, value] pairs of texts, no name empty or with a control character, in at most 1048576 bytes; they are NULL if there are none.'
    WHEN 'payload_check' THEN 'A payload has at most 67108864 bytes.'
  END;
END
$$;

ALTER TABLE outbox.message
  ALTER COLUMN attempts TYPE bigint,
  ALTER COLUMN tries TYPE bigint,
  ALTER COLUMN saved_at TYPE timestamptz,
  ALTER COLUMN lane TYPE smallint,
  ALTER COLUMN id TYPE text COLLATE "C",
  ALTER COLUMN topic TYPE text COLLATE "C",
  ALTER COLUMN key TYPE text COLLATE "C",
  ALTER COLUMN content_type TYPE text COLLATE "C",
  ALTER COLUMN headers TYPE json,
  ALTER COLUMN payload TYPE bytea,
  ADD CONSTRAINT message_row CHECK (
    outbox.check_row(position, attempts, tries, saved_at, lane, id, topic, key, content_type, headers, payload)
  );

ALTER TABLE outbox.scheduled
  ALTER COLUMN attempts TYPE bigint,
  ALTER COLUMN tries TYPE bigint,
  ALTER COLUMN saved_at TYPE timestamptz,
  ALTER COLUMN lane TYPE smallint,
  ALTER COLUMN id TYPE text COLLATE "C",
  ALTER COLUMN topic TYPE text COLLATE "C",
  ALTER COLUMN key TYPE text COLLATE "C",
  ALTER COLUMN content_type TYPE text COLLATE "C",
  ALTER COLUMN headers TYPE json,
  ALTER COLUMN payload TYPE bytea,
  ADD CONSTRAINT scheduled_row CHECK (
    outbox.check_row(position, attempts, tries, saved_at, lane, id, topic, key, content_type, headers, payload)
  );

CREATE OR REPLACE VIEW outbox.pending AS
SELECT
  p.position,
  p.state,
  greatest(p.due_at, t.until) <= statement_timestamp() AS ready,
  greatest(p.due_at, t.until) AS due_at,
  p.blocked,
  p.topic,
  p.key,
  p.id,
  p.attempts,
  p.tries,
  p.error,
  p.saved_at,
  p.lane,
  p.content_type,
  p.headers,
  outbox.text_of(p.payload) AS payload_text,
  p.payload,
  t.cause AS stopped
FROM (
  SELECT
    'line' AS state,
    CASE WHEN b.reason <> 'topic' THEN b.until ELSE m.saved_at END AS due_at,
    nullif(b.reason, 'topic') AS blocked,
    m.position, m.topic, m.key, m.id, m.attempts, m.tries, m.error, m.saved_at, m.lane, m.content_type, m.headers, m.payload
  FROM outbox.message AS m
  LEFT JOIN outbox.blocked_key AS b ON b.topic = m.topic AND b.key = m.key
  UNION ALL
  SELECT
    'waiting',
    CASE WHEN b.reason <> 'topic' THEN b.until ELSE w.saved_at END,
    nullif(b.reason, 'topic'),
    w.position, w.topic, w.key, w.id, w.attempts, w.tries, w.error, w.saved_at, w.lane, w.content_type, w.headers, w.payload
  FROM outbox.waiting AS w
  LEFT JOIN outbox.blocked_key AS b ON b.topic = w.topic AND b.key = w.key
  UNION ALL
  SELECT
    CASE WHEN s.due_at = '200000-01-01 00:00:00+00' THEN 'waiting' ELSE 'scheduled' END,
    greatest(
      CASE WHEN s.due_at = '200000-01-01 00:00:00+00' THEN s.saved_at ELSE s.due_at END,
      CASE WHEN b.reason <> 'topic' THEN b.until END
    ),
    nullif(b.reason, 'topic'),
    s.position, s.topic, s.key, s.id, s.attempts, s.tries, s.error, s.saved_at, s.lane, s.content_type, s.headers, s.payload
  FROM outbox.scheduled AS s
  LEFT JOIN outbox.blocked_key AS b ON b.topic = s.topic AND b.key = s.key
) AS p
LEFT JOIN outbox.topic_state AS t ON t.topic = p.topic
  AND t.until > statement_timestamp();

DROP DOMAIN outbox.message_attempts;
DROP DOMAIN outbox.message_tries;
DROP DOMAIN outbox.message_saved_at;
DROP DOMAIN outbox.message_lane;
DROP DOMAIN outbox.message_id;
DROP DOMAIN outbox.message_topic;
DROP DOMAIN outbox.message_key;
DROP DOMAIN outbox.message_content_type;
DROP DOMAIN outbox.message_headers;
DROP DOMAIN outbox.message_payload;

UPDATE outbox.schema_version SET version = 9;
