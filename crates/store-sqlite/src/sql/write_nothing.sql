-- Changes nothing, and fails where nothing can be changed. By primary key.
UPDATE outbox_position
SET last = last
WHERE one = 0
