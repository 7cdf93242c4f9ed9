-- The keys ?1 = [[topic, key], ...] whose block waits for a message that is gone are due for the next one, never those of dead letters. Served by the key
-- index of outbox_blocked_key, the primary key of outbox_waiting, and outbox_waiting_key.
UPDATE outbox_blocked_key
SET until = CAST(unixepoch('subsec') * 1000 AS INTEGER),
    reason = 'busy',
    position = (
      SELECT w.position
      FROM outbox_waiting w
      WHERE w.topic = outbox_blocked_key.topic
        AND w.key = outbox_blocked_key.key
      ORDER BY w.position
      LIMIT 1
    )
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
      WHERE w.position = b.position
    )
)
