-- All messages go with the tables.
DROP TABLE outbox.upkeep;
DROP TABLE outbox.destination_state;
DROP TABLE outbox.start_mark;
DROP TABLE outbox.saved_id;
-- With its partitions.
DROP TABLE outbox.published;
DROP TABLE outbox.dead;
DROP TABLE outbox.blocked_key;
DROP TABLE outbox.waiting;
DROP TABLE outbox.scheduled;
DROP TABLE outbox.message;
DROP TABLE outbox.lane;
DROP FUNCTION outbox.are_headers(json);
DROP FUNCTION outbox.lane_of(text, text);
DROP FUNCTION outbox.next_position();
DROP SEQUENCE outbox.position;
DROP TABLE outbox.schema_version;
