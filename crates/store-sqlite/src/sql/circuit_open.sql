-- The circuit of destination ?1 and relay ?2 is open, tries next in ?3 ms, and failed with ?4 last. By primary key.
INSERT INTO outbox_destination_state (destination, relay, open_since, next_probe, error)
VALUES (
  ?1,
  ?2,
  CAST(unixepoch('subsec') * 1000 AS INTEGER),
  CAST(unixepoch('subsec') * 1000 AS INTEGER) + ?3,
  ?4
)
ON CONFLICT (destination, relay) DO UPDATE
SET next_probe = excluded.next_probe,
    error = excluded.error
