-- Open circuits, for people.
SELECT destination, relay, open_since, next_probe, error
FROM outbox_destination_state
ORDER BY destination, relay
