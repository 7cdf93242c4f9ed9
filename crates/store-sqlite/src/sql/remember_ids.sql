-- Remembers the ids of ?1 = [[id, ms], ...] from ?2 on; what is still there of them is over. By the primary key of outbox_saved_id.
INSERT INTO outbox_saved_id (id, expires_at)
SELECT given.value ->> 0, ?2 + (given.value ->> 1)
FROM json_each(?1) AS given
WHERE true
ON CONFLICT (id) DO UPDATE
SET expires_at = excluded.expires_at
