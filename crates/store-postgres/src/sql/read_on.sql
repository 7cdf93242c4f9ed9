-- Locks the lanes that their holder reads on, by the tokens $1 lanes, $2 epochs, $3 holders, and answers those that are held with them, what is due of each, and when
-- something falls due that is not, in ms from now.
--
-- A lane that somebody has locked is skipped: the claim has locked others by now, and whoever waits for those must not be waited for. The lock gives the newest version of
-- a lane, and the token is compared with that one, so a lane that was settled or leased anew since this statement began is seen as it is. A lease that has run out
-- is nobody's to read, though nobody took it over. Nothing of the lane row changes: neither its token, nor its lease, nor its turn.
--
-- What is due comes from the snapshot of this statement, which may be older than the lock, and says only where to look: what is handed out is read by later statements,
-- under the lock.
--
-- By the primary keys of lane and scheduled, and blocked_key_until, one entry each.
WITH
  given AS MATERIALIZED (
    SELECT g.lane::smallint AS lane, g.epoch, g.holder, g.number
    FROM unnest($1::bigint[], $2::bigint[], $3::text[]) WITH ORDINALITY AS g (lane, epoch, holder, number)
  ),
  locked AS MATERIALIZED (
    SELECT
      g.number,
      l.lane,
      l.epoch = g.epoch AND l.holder = g.holder AND l.lease_until > clock_timestamp() AND l.careful = 0 AS held
    FROM given g
    CROSS JOIN LATERAL (
      SELECT l.lane, l.epoch, l.holder, l.lease_until, l.careful
      FROM outbox.lane l
      WHERE l.lane = g.lane
      ORDER BY l.lane DESC, l.epoch DESC
      LIMIT 1
      FOR UPDATE SKIP LOCKED
    ) AS l
  ),
  due AS MATERIALIZED (
    SELECT
      k.number,
      k.lane,
      (
        SELECT s.due_at
        FROM outbox.scheduled s
        WHERE s.lane = k.lane
        ORDER BY s.lane, s.due_at
        LIMIT 1
      ) AS scheduled,
      (
        SELECT b.until
        FROM outbox.blocked_key b
        WHERE b.lane = k.lane
        ORDER BY b.lane, b.until
        LIMIT 1
      ) AS blocked
    FROM locked k
    WHERE k.held
  )
SELECT
  d.lane,
  coalesce(d.scheduled <= now(), false) AS scheduled_due,
  coalesce(d.blocked <= now(), false) AS blocked_due,
  (ceil(extract(epoch FROM least(
    CASE WHEN d.scheduled > now() AND d.scheduled < '200000-01-01 00:00:00+00' THEN d.scheduled END,
    CASE WHEN d.blocked > now() AND isfinite(d.blocked) THEN d.blocked END
  ) - now()) * 1000))::bigint AS next_due
FROM due d
ORDER BY d.number
