-- Deletes the blocks of ?1 = [number, ...] behind which nothing waits. Never those of dead letters. By primary key and outbox_waiting_key.
DELETE FROM outbox_blocked_key
WHERE number IN (SELECT value FROM json_each(?1))
  AND reason <> 'dead'
  AND NOT EXISTS (
    SELECT 1
    FROM outbox_waiting w
    WHERE w.topic = outbox_blocked_key.topic
      AND w.key = outbox_blocked_key.key
  )
