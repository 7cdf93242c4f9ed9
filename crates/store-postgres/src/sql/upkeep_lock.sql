-- Keeps relays from doing upkeep until the transaction ends. One row.
SELECT true
FROM outbox.upkeep u
WHERE u.one
FOR UPDATE
