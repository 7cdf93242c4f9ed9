-- The lanes of ?1 = [[lane, epoch, holder], ...] that are held with these tokens, whose leases have not run out, and which are not served
-- carefully. By the primary key of outbox_lane, under the write lock.
SELECT
  l.lane,
  CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now
FROM json_each(?1) AS given
CROSS JOIN outbox_lane l
WHERE l.lane = given.value ->> 0
  AND l.epoch = given.value ->> 1
  AND l.holder = given.value ->> 2
  AND l.lease_until > CAST(unixepoch('subsec') * 1000 AS INTEGER)
  AND l.careful = 0
