DROP FUNCTION outbox.save(text, text, text, json, text, text, timestamptz, interval, boolean, boolean);
DROP FUNCTION outbox.save(text, bytea, text, json, text, text, timestamptz, interval, boolean, boolean);
DROP FUNCTION outbox.check_headers(json);
DROP FUNCTION outbox.check_part(text, text, integer);
DROP FUNCTION outbox.lock_order(text[], text[]);
DROP FUNCTION outbox.new_id();

UPDATE outbox.schema_version SET version = 1;
