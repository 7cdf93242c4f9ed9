-- Makes the leases of the tokens ($1 lanes, $2 epochs, $3 holders) end in $4 ms; answers lane and epoch of those that hold. The lanes are locked first, in
-- the order in which everybody locks lanes, and the token is compared with the newest version, which the lock gives. By the primary key of lane.
WITH
  given AS MATERIALIZED (
    SELECT g.lane::smallint AS lane, g.epoch, g.holder
    FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS g (lane, epoch, holder)
  ),
  locked AS MATERIALIZED (
    SELECT l.*
    FROM (SELECT DISTINCT g.lane FROM given g ORDER BY g.lane) AS g
    CROSS JOIN LATERAL (
      SELECT l.lane, l.epoch, l.holder
      FROM outbox.lane l
      WHERE l.lane = g.lane
      ORDER BY l.lane DESC, l.epoch DESC
      LIMIT 1
      FOR UPDATE
    ) AS l
  )
UPDATE outbox.lane l
SET lease_until = clock_timestamp() + make_interval(secs => $4::bigint / 1000.0)
FROM locked k
JOIN given g ON g.lane = k.lane
  AND g.epoch = k.epoch
  AND g.holder = k.holder
WHERE l.lane = k.lane
  AND l.epoch = k.epoch
RETURNING l.lane, l.epoch
