-- The rules of a row in one function, and one constraint for each table. Every INSERT reads and plans the constraints of its table anew, and the SQL functions in them
-- too: a dozen of them cost a save of one message more than all the rest of it. What stands in a PL/pgSQL function is planned once in a session.

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
  DROP CONSTRAINT message_position_check,
  DROP CONSTRAINT message_attempts_check,
  DROP CONSTRAINT message_tries_check,
  DROP CONSTRAINT message_saved_at_check,
  DROP CONSTRAINT message_lane_check,
  DROP CONSTRAINT message_id_check,
  DROP CONSTRAINT message_topic_check,
  DROP CONSTRAINT message_key_check,
  DROP CONSTRAINT message_content_type_check,
  DROP CONSTRAINT message_headers_check,
  DROP CONSTRAINT message_payload_check,
  DROP CONSTRAINT message_lane_of_key,
  ADD CONSTRAINT message_row CHECK (
    outbox.check_row(position, attempts, tries, saved_at, lane, id, topic, key, content_type, headers, payload)
  );

ALTER TABLE outbox.scheduled
  DROP CONSTRAINT scheduled_position_check,
  DROP CONSTRAINT scheduled_attempts_check,
  DROP CONSTRAINT scheduled_tries_check,
  DROP CONSTRAINT scheduled_saved_at_check,
  DROP CONSTRAINT scheduled_lane_check,
  DROP CONSTRAINT scheduled_id_check,
  DROP CONSTRAINT scheduled_topic_check,
  DROP CONSTRAINT scheduled_key_check,
  DROP CONSTRAINT scheduled_content_type_check,
  DROP CONSTRAINT scheduled_headers_check,
  DROP CONSTRAINT scheduled_payload_check,
  DROP CONSTRAINT scheduled_lane_of_key,
  ADD CONSTRAINT scheduled_row CHECK (
    outbox.check_row(position, attempts, tries, saved_at, lane, id, topic, key, content_type, headers, payload)
  );

UPDATE outbox.schema_version SET version = 9;
