-- The circuit of destination ?1 and relay ?2 is closed. By primary key.
DELETE FROM outbox_destination_state
WHERE destination = ?1
  AND relay = ?2
