-- The rules of a row as domains of its columns. A constraint of a table is read and planned anew for every INSERT, those of a domain once in a session: a save of one
-- message costs the server a quarter less, one of many a fifth to a third. Whoever breaks a rule reads it: it is the name of the constraint. As in a CHECK, what is NULL passes.
--
-- What no column can tell by itself is not checked any more: that the lane of a message with a key is outbox.lane_of(topic, key). Relays look at it in each row
-- they read; a row of which it is not true is unreadable, and a redrive puts it right. Position stays what it was: savers whose statements were prepared before
-- get it as the type that they expect, and go on.

CREATE DOMAIN outbox.message_attempts AS bigint CONSTRAINT "attempts are from 0 to 4294967295" CHECK (VALUE BETWEEN 0 AND 4294967295);
CREATE DOMAIN outbox.message_tries AS bigint CONSTRAINT "tries are from 0 to 4294967295" CHECK (VALUE BETWEEN 0 AND 4294967295);
CREATE DOMAIN outbox.message_saved_at AS timestamptz CONSTRAINT "the time of saving is finite" CHECK (isfinite(VALUE));
CREATE DOMAIN outbox.message_lane AS smallint CONSTRAINT "a lane is from 0 to 63" CHECK (VALUE BETWEEN 0 AND 63);
CREATE DOMAIN outbox.message_id AS text COLLATE "C" CONSTRAINT "an id has 1 to 255 bytes" CHECK (octet_length(VALUE) BETWEEN 1 AND 255);
CREATE DOMAIN outbox.message_topic AS text COLLATE "C" CONSTRAINT "a topic has 1 to 255 bytes and no control character" CHECK (octet_length(VALUE) BETWEEN 1 AND 255 AND VALUE !~ '[\u0001-\u001f\u007f-\u009f]');
CREATE DOMAIN outbox.message_key AS text COLLATE "C" CONSTRAINT "a key has 1 to 1024 bytes" CHECK (octet_length(VALUE) BETWEEN 1 AND 1024);
CREATE DOMAIN outbox.message_content_type AS text COLLATE "C" CONSTRAINT "a content type has 1 to 255 bytes" CHECK (octet_length(VALUE) BETWEEN 1 AND 255);
CREATE DOMAIN outbox.message_headers AS json CONSTRAINT "headers are [name, value] pairs of texts in at most 1 MiB" CHECK (octet_length(VALUE::text) <= 1048576 AND outbox.are_headers(VALUE));
CREATE DOMAIN outbox.message_payload AS bytea CONSTRAINT "a payload has at most 64 MiB" CHECK (octet_length(VALUE) <= 67108864);

-- A view holds on to the columns it reads: it reads none meanwhile. So it keeps the rights that were granted on it.
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

ALTER TABLE outbox.message
  DROP CONSTRAINT message_row,
  ALTER COLUMN attempts TYPE outbox.message_attempts,
  ALTER COLUMN tries TYPE outbox.message_tries,
  ALTER COLUMN saved_at TYPE outbox.message_saved_at,
  ALTER COLUMN lane TYPE outbox.message_lane,
  ALTER COLUMN id TYPE outbox.message_id,
  ALTER COLUMN topic TYPE outbox.message_topic,
  ALTER COLUMN key TYPE outbox.message_key,
  ALTER COLUMN content_type TYPE outbox.message_content_type,
  ALTER COLUMN headers TYPE outbox.message_headers,
  ALTER COLUMN payload TYPE outbox.message_payload;

ALTER TABLE outbox.scheduled
  DROP CONSTRAINT scheduled_row,
  ALTER COLUMN attempts TYPE outbox.message_attempts,
  ALTER COLUMN tries TYPE outbox.message_tries,
  ALTER COLUMN saved_at TYPE outbox.message_saved_at,
  ALTER COLUMN lane TYPE outbox.message_lane,
  ALTER COLUMN id TYPE outbox.message_id,
  ALTER COLUMN topic TYPE outbox.message_topic,
  ALTER COLUMN key TYPE outbox.message_key,
  ALTER COLUMN content_type TYPE outbox.message_content_type,
  ALTER COLUMN headers TYPE outbox.message_headers,
  ALTER COLUMN payload TYPE outbox.message_payload;

DROP FUNCTION outbox.check_row(bigint, bigint, bigint, timestamptz, smallint, text, text, text, text, json, bytea);

-- As before.
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

UPDATE outbox.schema_version SET version = 10;
