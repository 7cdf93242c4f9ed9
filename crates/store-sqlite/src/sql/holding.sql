-- Which of the dead letters ?1 = [position, ...] hold their key. By primary key, and the key index of outbox_blocked_key.
SELECT d.position
FROM json_each(?1) AS given
CROSS JOIN outbox_dead d
CROSS JOIN outbox_blocked_key b
WHERE d.position = given.value
  AND b.topic = d.topic
  AND b.key = d.key
  AND b.reason = 'dead'
  AND b.position = d.position
