-- The circuit of the destination $1 and the relay $2 is open, tries next in $3 ms, and failed with $4 last. By primary key.
INSERT INTO outbox.destination_state (destination, relay, open_since, next_probe, error)
VALUES (
  $1::text,
  $2::text,
  clock_timestamp(),
  clock_timestamp() + make_interval(secs => $3::bigint / 1000.0),
  $4::text
)
ON CONFLICT (destination, relay) DO UPDATE
SET next_probe = excluded.next_probe,
    error = excluded.error
