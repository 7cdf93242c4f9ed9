-- Takes back the floor of lanes under which something stands all the same: when the sequence went backwards, as after a restore or with a copy of the tables
-- without it, or when a row was written by hand at a position below. Answers how many lanes. It walks what was deleted below the floors as long as a snapshot keeps it, so it is part of upkeep, not of a claim. By
-- the primary key of message; lanes are locked in their order.
WITH
  low AS MATERIALIZED (
    SELECT l.lane, p.position
    FROM generate_series(0, 63) AS g (lane)
    CROSS JOIN LATERAL (
      SELECT l.lane, l.floor
      FROM outbox.lane l
      WHERE l.lane = g.lane::smallint
      ORDER BY l.lane DESC, l.epoch DESC
      LIMIT 1
    ) AS l
    CROSS JOIN LATERAL (
      SELECT m.position
      FROM outbox.message m
      WHERE m.lane = l.lane
        AND m.position < l.floor
      ORDER BY m.lane, m.position
      LIMIT 1
    ) AS p
  ),
  locked AS MATERIALIZED (
    SELECT l.*, w.position
    FROM (SELECT w.lane, w.position FROM low w ORDER BY w.lane) AS w
    CROSS JOIN LATERAL (
      SELECT l.lane, l.epoch
      FROM outbox.lane l
      WHERE l.lane = w.lane
      ORDER BY l.lane DESC, l.epoch DESC
      LIMIT 1
      FOR UPDATE
    ) AS l
  ),
  healed AS (
    UPDATE outbox.lane l
    SET floor = least(0, k.position),
        mark = NULL,
        mark_xid = NULL,
        ahead = 0
    FROM locked k
    WHERE l.lane = k.lane
    RETURNING l.lane
  )
SELECT count(*)
FROM healed
