-- Pauses the topic $1 for $2 ms, or, if that is NULL, until it is resumed, whatever stopped it before. By primary key.
INSERT INTO outbox.topic_state AS t (topic, cause, stopped_at, until)
VALUES (
  $1::text,
  'paused',
  clock_timestamp(),
  coalesce(clock_timestamp() + make_interval(secs => $2::bigint / 1000.0), 'infinity')
)
ON CONFLICT (topic) DO UPDATE
SET cause = excluded.cause,
    stopped_at = CASE WHEN t.until > now() THEN t.stopped_at ELSE excluded.stopped_at END,
    until = excluded.until,
    destination = NULL,
    relay = NULL,
    error = NULL,
    probe = NULL,
    freed = 0
