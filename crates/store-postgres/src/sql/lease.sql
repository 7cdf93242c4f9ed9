-- Leases up to $3 lanes that have something due, least recently served first, for relay $4 and $5 ms; $2 has a bit for each lane that may be leased.
-- A lane whose holder vanished is served alone and carefully, until $6 messages completed; care of a lane ends when nothing of it is due.
-- Answers one row with the version, which must be $1, and what is known of the other lanes, or one such row for each leased lane.
--
-- What is due is looked for lane by lane, and no further than $3 lanes are locked: each part of this statement takes the rows of the one before it as it needs
-- them, without a sort between. So a claim that finds enough looks at few lanes, and says nothing of the others. All that nobody holds are looked at if there are fewer, and held ones until one has something due; all likewise while
-- a lane is careful that nobody holds.
--
-- The newest version of a lane is the last of its lane in the primary key: a snapshot that somebody holds keeps all others, and they are not looked at.
-- The lanes are seen in the snapshot of this statement, and locked only if they still are as seen (the epoch grows with every lease and release). What is
-- due is decided by the snapshot, which says only where to look: what is handed out is read by later statements, under the lock. Which of the lanes is served
-- alone is judged after the locks: a careful lane that somebody else has locked must not keep all others waiting.
--
-- floor: all rows of the line with a position up to mark were written by transactions with a number below mark_xid, since a transaction has its number
-- before it draws a position (next_position), and mark_xid is the number of a transaction that began after mark was noted. Once every transaction
-- below mark_xid has ended, this snapshot shows all there will ever be up to mark. Only promotion adds older rows; it lowers floor.
--
-- What a stop of its topic set aside is never due: its block lasts until infinity, and the year 200000 is no time to come.
--
-- quiet: until when savers need not notify, in ms since 1970. If it is $9, or more than $8 ms from now, the claim has them notify again. Otherwise, if the claim
-- leases something, it is to be $7 ms from now, and is moved before half of that is over. NULL leaves it alone. Answered is what it is set to. A look that changes
-- nothing else need not wait until the disk has this: what a crash takes back is found by the next look.
--
-- Each sub-select reads one entry of an index: the primary keys of lane, message and scheduled, blocked_key_until.
WITH
  clock AS MATERIALIZED (
    SELECT
      (SELECT v.version FROM outbox.schema_version v WHERE v.one) AS version,
      gen_random_uuid()::text AS holder,
      pg_snapshot_xmin(pg_current_snapshot()) AS oldest,
      pg_snapshot_xmax(pg_current_snapshot()) AS newest
  ),
  newest AS MATERIALIZED (
    SELECT
      l.*,
      l.holder IS NOT NULL AND l.lease_until > now() AS is_leased,
      l.careful > 0 OR (l.holder IS NOT NULL AND l.lease_until <= now()) AS is_careful
    FROM generate_series(0, 63) AS g (lane)
    CROSS JOIN LATERAL (
      SELECT *
      FROM outbox.lane l
      WHERE l.lane = g.lane::smallint
      ORDER BY l.lane DESC, l.epoch DESC
      LIMIT 1
    ) AS l
  ),
  seen AS MATERIALIZED (
    SELECT
      l.number,
      l.lane,
      l.epoch,
      l.turn,
      l.is_careful,
      (
        SELECT m.position
        FROM outbox.message m
        WHERE m.lane = l.lane
          AND m.position >= l.floor
        ORDER BY m.lane, m.position
        LIMIT 1
      ) AS line,
      (
        SELECT s.due_at
        FROM outbox.scheduled s
        WHERE s.lane = l.lane
        ORDER BY s.lane, s.due_at
        LIMIT 1
      ) AS scheduled,
      (
        SELECT b.until
        FROM outbox.blocked_key b
        WHERE b.lane = l.lane
        ORDER BY b.lane, b.until
        LIMIT 1
      ) AS blocked
    FROM (
      SELECT
        n.*,
        row_number() OVER (ORDER BY n.turn, n.lane) AS number
      FROM newest n
      CROSS JOIN clock c
      WHERE c.version = $1
        AND NOT n.is_leased
        AND ($2::bigint >> n.lane) & 1 = 1
    ) AS l
  ),
  judged AS MATERIALIZED (
    SELECT
      s.*,
      s.line IS NOT NULL OR coalesce(s.scheduled <= now(), false) OR coalesce(s.blocked <= now(), false) AS is_due,
      least(
        CASE WHEN s.scheduled > now() AND s.scheduled < '200000-01-01 00:00:00+00' THEN s.scheduled END,
        CASE WHEN s.blocked > now() AND isfinite(s.blocked) THEN s.blocked END
      ) AS next_due
    FROM seen s
  ),
  grasped AS MATERIALIZED (
    SELECT j.*
    FROM judged j
    CROSS JOIN LATERAL (
      SELECT
      FROM outbox.lane l
      WHERE l.lane = j.lane
        AND l.epoch = j.epoch
        AND (l.holder IS NULL OR l.lease_until <= now())
      FOR UPDATE OF l SKIP LOCKED
    ) AS l
    WHERE j.is_due
    LIMIT $3
  ),
  locked AS MATERIALIZED (
    SELECT g.*
    FROM grasped g
    CROSS JOIN (
      SELECT f.number, f.is_careful
      FROM grasped f
      ORDER BY f.number
      LIMIT 1
    ) AS f
    WHERE CASE WHEN f.is_careful THEN g.number = f.number ELSE NOT g.is_careful END
  ),
  idle AS MATERIALIZED (
    SELECT l.lane, l.epoch
    FROM judged j
    JOIN outbox.lane l ON l.lane = j.lane
      AND l.epoch = j.epoch
    WHERE (SELECT count(*) FROM newest n WHERE n.is_careful AND NOT n.is_leased) > 0
      AND (l.holder IS NULL OR l.lease_until <= now())
      AND j.is_careful
      AND NOT j.is_due
    FOR UPDATE OF l SKIP LOCKED
  ),
  cared AS (
    UPDATE outbox.lane l
    SET epoch = l.epoch + 1,
        careful = 0,
        holder = NULL,
        relay = NULL,
        lease_until = '-infinity'
    FROM idle i
    WHERE l.lane = i.lane
      AND l.epoch = i.epoch
  ),
  leased AS (
    UPDATE outbox.lane l
    SET epoch = l.epoch + 1,
        careful = CASE WHEN l.holder IS NULL THEN l.careful ELSE $6 END,
        holder = c.holder,
        relay = $4,
        lease_until = clock_timestamp() + make_interval(secs => $5 / 1000.0),
        turn = (SELECT max(t.turn) FROM newest t) + k.number,
        floor = CASE
          WHEN l.mark_xid <= c.oldest THEN least(coalesce(k.line, l.mark + 1), l.mark + 1)
          ELSE l.floor
        END,
        mark = CASE
          WHEN l.mark IS NULL OR l.mark_xid <= c.oldest OR l.mark_xid >= c.newest
          THEN (SELECT CASE WHEN p.is_called THEN p.last_value ELSE p.last_value - 1 END FROM outbox.position p)
          ELSE l.mark
        END,
        mark_xid = CASE
          WHEN l.mark IS NULL OR l.mark_xid <= c.oldest OR l.mark_xid >= c.newest THEN NULL
          ELSE coalesce(l.mark_xid, pg_current_xact_id())
        END,
        -- What was seen of a long line is looked at anew from time to time: a message that committed late is not in it.
        ahead = CASE WHEN l.epoch % 128 = 0 THEN 0 ELSE l.ahead END
    FROM locked k
    CROSS JOIN clock c
    WHERE l.lane = k.lane
      AND l.epoch = k.epoch
    RETURNING
      k.number,
      l.lane,
      l.epoch,
      l.holder,
      l.careful > 0 AS careful,
      k.turn,
      coalesce(k.scheduled <= now(), false) AS scheduled_due,
      coalesce(k.blocked <= now(), false) AS blocked_due,
      k.next_due
  )
SELECT
  c.version,
  (
    SELECT CASE
      WHEN q.last_value > t.ms + $8::bigint OR q.last_value = $9::bigint THEN
        setval('outbox.quiet', CASE
          WHEN (SELECT count(*) FROM locked) > 0 THEN 1
          WHEN set_config('synchronous_commit', 'off', true) = 'off' THEN 1
        END)
      WHEN q.last_value < t.ms + $7::bigint / 2 AND (SELECT count(*) FROM locked) > 0 THEN
        setval('outbox.quiet', t.ms + $7::bigint)
    END
    FROM outbox.quiet q
    CROSS JOIN (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms) AS t
  ) AS quiet,
  CASE
    WHEN (SELECT count(*) FROM locked) = $3 THEN false
    -- One that is due was locked by somebody else at this moment.
    WHEN (SELECT count(*) FROM locked) = 0 AND (SELECT count(*) FROM judged j WHERE j.is_due) > 0 THEN true
    ELSE (
      SELECT true
      FROM newest n
      WHERE n.is_leased
        AND ($2::bigint >> n.lane) & 1 = 1
        AND CASE
          WHEN (
            SELECT m.position
            FROM outbox.message m
            WHERE m.lane = n.lane
              AND m.position >= n.floor
            ORDER BY m.lane, m.position
            LIMIT 1
          ) IS NOT NULL THEN true
          WHEN (
            SELECT s.due_at
            FROM outbox.scheduled s
            WHERE s.lane = n.lane
            ORDER BY s.lane, s.due_at
            LIMIT 1
          ) <= now() THEN true
          ELSE (
            SELECT b.until
            FROM outbox.blocked_key b
            WHERE b.lane = n.lane
            ORDER BY b.lane, b.until
            LIMIT 1
          ) <= now()
        END
      LIMIT 1
    ) IS NOT NULL
  END AS leased_elsewhere,
  CASE WHEN (SELECT count(*) FROM locked) < $3 THEN (
    SELECT (ceil(extract(epoch FROM min(j.next_due) - now()) * 1000))::bigint
    FROM judged j
    WHERE NOT (j.lane = ANY (ARRAY(SELECT k.lane FROM locked k)))
  ) END AS next_due,
  x.lane,
  x.epoch,
  x.holder,
  x.careful,
  x.turn,
  x.scheduled_due,
  x.blocked_due,
  (ceil(extract(epoch FROM x.next_due - now()) * 1000))::bigint AS lane_next_due
FROM clock c
LEFT JOIN leased x ON true
ORDER BY x.number
