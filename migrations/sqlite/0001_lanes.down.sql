-- All messages go with the tables.
DROP TABLE outbox_destination_state;
DROP TABLE outbox_start_mark;
DROP TABLE outbox_saved_id;
DROP TABLE outbox_dead;
DROP TABLE outbox_blocked_key;
DROP TABLE outbox_waiting;
DROP TABLE outbox_scheduled;
DROP TABLE outbox_message;
DROP TABLE outbox_lane;
DROP TABLE outbox_position;
DROP TABLE outbox_schema_version;
