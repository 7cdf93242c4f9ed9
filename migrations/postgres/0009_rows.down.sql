ALTER TABLE outbox.message
  DROP CONSTRAINT message_row,
  ADD CONSTRAINT message_position_check CHECK (position > 0),
  ADD CONSTRAINT message_attempts_check CHECK (attempts BETWEEN 0 AND 4294967295),
  ADD CONSTRAINT message_tries_check CHECK (tries BETWEEN 0 AND 4294967295),
  ADD CONSTRAINT message_saved_at_check CHECK (isfinite(saved_at)),
  ADD CONSTRAINT message_lane_check CHECK (lane BETWEEN 0 AND 63),
  ADD CONSTRAINT message_id_check CHECK (octet_length(id) BETWEEN 1 AND 255),
  ADD CONSTRAINT message_topic_check CHECK (octet_length(topic) BETWEEN 1 AND 255 AND topic !~ '[\u0001-\u001f\u007f-\u009f]'),
  ADD CONSTRAINT message_key_check CHECK (octet_length(key) BETWEEN 1 AND 1024),
  ADD CONSTRAINT message_content_type_check CHECK (octet_length(content_type) BETWEEN 1 AND 255),
  ADD CONSTRAINT message_headers_check CHECK (octet_length(headers::text) <= 1048576 AND outbox.are_headers(headers)),
  ADD CONSTRAINT message_payload_check CHECK (octet_length(payload) <= 67108864),
  ADD CONSTRAINT message_lane_of_key CHECK (key IS NULL OR lane = outbox.lane_of(topic, key));

ALTER TABLE outbox.scheduled
  DROP CONSTRAINT scheduled_row,
  ADD CONSTRAINT scheduled_position_check CHECK (position > 0),
  ADD CONSTRAINT scheduled_attempts_check CHECK (attempts BETWEEN 0 AND 4294967295),
  ADD CONSTRAINT scheduled_tries_check CHECK (tries BETWEEN 0 AND 4294967295),
  ADD CONSTRAINT scheduled_saved_at_check CHECK (isfinite(saved_at)),
  ADD CONSTRAINT scheduled_lane_check CHECK (lane BETWEEN 0 AND 63),
  ADD CONSTRAINT scheduled_id_check CHECK (octet_length(id) BETWEEN 1 AND 255),
  ADD CONSTRAINT scheduled_topic_check CHECK (octet_length(topic) BETWEEN 1 AND 255 AND topic !~ '[\u0001-\u001f\u007f-\u009f]'),
  ADD CONSTRAINT scheduled_key_check CHECK (octet_length(key) BETWEEN 1 AND 1024),
  ADD CONSTRAINT scheduled_content_type_check CHECK (octet_length(content_type) BETWEEN 1 AND 255),
  ADD CONSTRAINT scheduled_headers_check CHECK (octet_length(headers::text) <= 1048576 AND outbox.are_headers(headers)),
  ADD CONSTRAINT scheduled_payload_check CHECK (octet_length(payload) <= 67108864),
  ADD CONSTRAINT scheduled_lane_of_key CHECK (key IS NULL OR lane = outbox.lane_of(topic, key));

DROP FUNCTION outbox.check_row(bigint, bigint, bigint, timestamptz, smallint, text, text, text, text, json, bytea);

UPDATE outbox.schema_version SET version = 8;
