-- The keys that the dead letters ?1 = [position, ...] hold are due: their block has reason ?2. Served by outbox_blocked_key_position.
UPDATE outbox_blocked_key
SET until = CAST(unixepoch('subsec') * 1000 AS INTEGER),
    reason = ?2
WHERE reason = 'dead'
  AND position IN (SELECT value FROM json_each(?1))
