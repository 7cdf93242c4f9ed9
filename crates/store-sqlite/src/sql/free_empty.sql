-- Deletes the blocks of the keys ?1 = [[topic, key], ...] behind which nothing waits, never those of dead letters. Served by the key index of
-- outbox_blocked_key and by outbox_waiting_key.
DELETE FROM outbox_blocked_key
WHERE number IN (
  SELECT b.number
  FROM json_each(?1) AS given
  CROSS JOIN outbox_blocked_key b
  WHERE b.topic = given.value ->> 0
    AND b.key = given.value ->> 1
    AND b.reason <> 'dead'
    AND NOT EXISTS (
      SELECT 1
      FROM outbox_waiting w
      WHERE w.topic = b.topic
        AND w.key = b.key
    )
)
