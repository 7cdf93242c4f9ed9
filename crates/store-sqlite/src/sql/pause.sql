-- Pauses topic ?1 for ?2 ms, or until it is resumed if that is null; what relays say of its destination has no meaning then. By primary key.
INSERT INTO outbox_topic_state (topic, cause, stopped_at, until)
VALUES (
  ?1,
  'paused',
  CAST(unixepoch('subsec') * 1000 AS INTEGER),
  coalesce(CAST(unixepoch('subsec') * 1000 AS INTEGER) + ?2, 9223372036854775807)
)
ON CONFLICT (topic) DO UPDATE
SET cause = excluded.cause,
    stopped_at = iif(until > excluded.stopped_at, stopped_at, excluded.stopped_at),
    until = excluded.until,
    destination = NULL,
    relay = NULL,
    error = NULL,
    probe = NULL,
    probe_lane = NULL
