-- Removes circuits whose next probe is overdue by more than ?1 ms. It reads the table, which has a row for each destination and relay.
DELETE FROM outbox_destination_state
WHERE next_probe < CAST(unixepoch('subsec') * 1000 AS INTEGER) - ?1
