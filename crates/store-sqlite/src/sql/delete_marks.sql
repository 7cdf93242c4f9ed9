-- Deletes all start marks of the lanes ?1 = [[lane, ...], ...]: nothing of them is in a row any more. By primary key.
DELETE FROM outbox_start_mark
WHERE lane IN (SELECT value ->> 0 FROM json_each(?1))
