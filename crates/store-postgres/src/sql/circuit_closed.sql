-- The circuit of the destination $1 and the relay $2 is closed. By primary key.
DELETE FROM outbox.destination_state
WHERE destination = $1::text
  AND relay = $2::text
