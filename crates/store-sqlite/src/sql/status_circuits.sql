-- Open circuits, for people, but for those whose next probe is overdue by more than ?1 ms.
SELECT destination, relay, open_since, next_probe, error
FROM outbox_destination_state
WHERE next_probe >= CAST(unixepoch('subsec') * 1000 AS INTEGER) - ?1
ORDER BY destination, relay
