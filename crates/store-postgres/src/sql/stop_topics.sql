-- Stops the topics $1 because their destination $2 is down, says the relay $3, for $4 ms; $5 is the last error. One that is stopped already stays so at least as
-- long as before, and lets nothing through any more; one that an operator paused is left alone. What was freed of a stop that is over is of no use then. By primary
-- key; the rows are locked in the order of topics, by everybody who locks several.
INSERT INTO outbox.topic_state AS t (topic, cause, stopped_at, until, destination, relay, error)
SELECT
  g.topic,
  'destination',
  clock_timestamp(),
  clock_timestamp() + make_interval(secs => $4::bigint / 1000.0),
  $2::text,
  $3::text,
  $5::text
FROM (SELECT DISTINCT g.topic COLLATE "C" AS topic FROM unnest($1::text[]) AS g (topic) ORDER BY 1) AS g
ON CONFLICT (topic) DO UPDATE
SET cause = excluded.cause,
    stopped_at = CASE WHEN t.until > now() THEN t.stopped_at ELSE excluded.stopped_at END,
    until = greatest(t.until, excluded.until),
    destination = excluded.destination,
    relay = excluded.relay,
    error = excluded.error,
    probe = NULL,
    freed = 0
WHERE t.cause <> 'paused'
  OR t.until <= now()
