-- Checks the tokens ($1 lanes, $2 epochs, $3 holders), gives back the held lanes that $4 says, and removes the confirmed messages ($5 lanes, $6 positions,
-- $7 ids) that stand in the line. Answers a row for each held lane: whether it is careful and has start marks; and a row for each lane with the
-- positions removed.
--
-- The lanes are locked first, in the order in which everybody locks lanes. The lock gives the newest version of a lane, and the token is compared
-- with that one; the same version is what is given back. A lane whose token is stale is locked as well: what the broker confirmed is removed
-- all the same. The removals ask for the count of the locked lanes, so they wait for all locks: else a claim that holds a lane, and
-- sets one of these messages aside, would wait for this statement while it waits for the claim.
--
-- After a wait for a lock the rest of this statement still reads what was there before. It removes only what it finds by lane, position and id and what
-- is still there; a row that was changed or moved meanwhile may be left out here, and is looked for by the next statement. The marks of a
-- held lane are its holder's own or older than its lease, so they were there before.
--
-- By the primary keys of lane and message; the marks by theirs.
WITH
  given AS MATERIALIZED (
    SELECT g.lane::smallint AS lane, g.epoch, g.holder, g.release
    FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::boolean[]) AS g (lane, epoch, holder, release)
  ),
  locked AS MATERIALIZED (
    SELECT l.*
    FROM (SELECT DISTINCT g.lane FROM given g ORDER BY g.lane) AS g
    CROSS JOIN LATERAL (
      SELECT l.lane, l.epoch, l.holder, l.careful
      FROM outbox.lane l
      WHERE l.lane = g.lane
      ORDER BY l.lane DESC, l.epoch DESC
      LIMIT 1
      FOR UPDATE
    ) AS l
  ),
  held AS MATERIALIZED (
    SELECT k.lane, k.epoch, k.careful, g.release
    FROM locked k
    JOIN given g ON g.lane = k.lane
      AND g.epoch = k.epoch
      AND g.holder = k.holder
  ),
  released AS (
    UPDATE outbox.lane l
    SET epoch = l.epoch + 1,
        holder = NULL,
        relay = NULL,
        lease_until = '-infinity'
    FROM held h
    WHERE l.lane = h.lane
      AND l.epoch = h.epoch
      AND h.release
  ),
  gone AS (
    DELETE FROM outbox.message
    WHERE ctid = ANY (ARRAY(
      SELECT (SELECT m.ctid FROM outbox.message m WHERE m.lane = c.lane::smallint AND m.position = c.position AND m.id = c.id)
      FROM unnest($5::bigint[], $6::bigint[], $7::text[]) AS c (lane, position, id)
      WHERE (SELECT count(*) FROM locked) > 0
    ))
    RETURNING lane, position
  )
SELECT
  h.lane,
  h.careful > 0,
  (SELECT true FROM outbox.start_mark s WHERE s.lane = h.lane LIMIT 1),
  NULL
FROM held h
UNION ALL
SELECT
  g.lane,
  false,
  false,
  string_agg(int8send(g.position), '')
FROM gone g
GROUP BY g.lane
