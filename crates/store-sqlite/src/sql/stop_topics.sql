-- Stops the topics ?1 = [topic, ...] for at least ?2 ms, because destination ?3 is down, as relay ?4 says, with error ?5. Those that are paused stay so.
-- By primary key.
INSERT INTO outbox_topic_state (topic, cause, stopped_at, until, destination, relay, error)
SELECT
  given.value,
  'destination',
  CAST(unixepoch('subsec') * 1000 AS INTEGER),
  CAST(unixepoch('subsec') * 1000 AS INTEGER) + ?2,
  ?3,
  ?4,
  ?5
FROM json_each(?1) AS given
WHERE true
ON CONFLICT (topic) DO UPDATE
SET cause = excluded.cause,
    stopped_at = iif(until > excluded.stopped_at, stopped_at, excluded.stopped_at),
    until = iif(until > excluded.stopped_at, max(until, excluded.until), excluded.until),
    destination = excluded.destination,
    relay = excluded.relay,
    error = excluded.error,
    probe = NULL
WHERE cause <> 'paused'
  OR until <= excluded.stopped_at
