-- Drops those of the dead letters $1 = positions that are still there; their lanes are locked, so that nobody else moves them. A key that one of them
-- held goes on: its block goes if nothing is set aside, else it is due. Answers a row for each. Dead letters by primary key, their blocks, what is
-- set aside and marks by theirs.
WITH
  letter AS (
    DELETE FROM outbox.dead d
    WHERE d.ctid = ANY (ARRAY(
      SELECT (SELECT l.ctid FROM outbox.dead l WHERE l.position = given.position)
      FROM unnest($1::bigint[]) AS given (position)
    ))
    RETURNING
      d.position,
      d.lane,
      (
        SELECT b.ctid
        FROM outbox.blocked_key b
        WHERE b.topic = d.topic
          AND b.key = d.key
          AND b.reason = 'dead'
          AND b.position = d.position
      ) AS block,
      (
        SELECT w.position
        FROM outbox.waiting w
        WHERE w.topic = d.topic
          AND w.key = d.key
        ORDER BY w.position
        LIMIT 1
      ) AS next
  ),
  unmarked AS (
    DELETE FROM outbox.start_mark s
    WHERE s.ctid = ANY (ARRAY(
      SELECT m.ctid
      FROM letter l
      CROSS JOIN LATERAL (SELECT s.ctid FROM outbox.start_mark s WHERE s.lane = l.lane AND s.position = l.position OFFSET 0) AS m
    ))
  ),
  unblocked AS (
    DELETE FROM outbox.blocked_key b
    WHERE b.ctid = ANY (ARRAY(SELECT l.block FROM letter l WHERE l.next IS NULL))
  ),
  released AS (
    UPDATE outbox.blocked_key b
    SET until = clock_timestamp(),
        reason = 'busy',
        position = (
          SELECT w.position
          FROM outbox.waiting w
          WHERE w.topic = b.topic
            AND w.key = b.key
          ORDER BY w.position
          LIMIT 1
        )
    WHERE b.ctid = ANY (ARRAY(SELECT l.block FROM letter l WHERE l.next IS NOT NULL))
  )
SELECT false
FROM letter l
