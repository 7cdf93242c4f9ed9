-- Deletes the rows of ?1 = [position, ...], which stand in the line now. By primary key.
DELETE FROM outbox_scheduled
WHERE position IN (SELECT value FROM json_each(?1))
