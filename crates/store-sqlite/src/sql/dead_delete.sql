-- Deletes the dead letters ?1 = [position, ...]. By primary key.
DELETE FROM outbox_dead
WHERE position IN (SELECT value FROM json_each(?1))
