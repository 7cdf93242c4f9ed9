-- Deletes the rows of ?1 = [position, ...], which stand elsewhere now. By primary key.
DELETE FROM outbox_message
WHERE position IN (SELECT value FROM json_each(?1))
