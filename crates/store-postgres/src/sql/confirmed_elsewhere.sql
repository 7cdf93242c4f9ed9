-- Removes confirmed messages ($1 lanes, $2 positions, $3 ids, $4 topics, $5 keys) that the fence did not find in the line: a later holder of their lane may
-- have recorded a failure, or set them aside. The lanes are locked, so this statement sees what everybody before did, and nobody moves a message
-- meanwhile: each stands in one table. Answers lane, position, and whether it had been set aside. By the primary keys of message and
-- waiting, and scheduled_position.
WITH
  given AS MATERIALIZED (
    SELECT g.lane::smallint AS lane, g.position, g.id, g.topic, g.key
    FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[]) AS g (lane, position, id, topic, key)
  ),
  line AS (
    DELETE FROM outbox.message
    WHERE ctid = ANY (ARRAY(
      SELECT (SELECT m.ctid FROM outbox.message m WHERE m.lane = g.lane AND m.position = g.position AND m.id = g.id)
      FROM given g
    ))
    RETURNING lane, position
  ),
  aside AS (
    DELETE FROM outbox.waiting
    WHERE ctid = ANY (ARRAY(
      SELECT (
        SELECT w.ctid
        FROM outbox.waiting w
        WHERE w.topic = g.topic
          AND w.key = g.key
          AND w.position = g.position
          AND w.lane = g.lane
          AND w.id = g.id
      )
      FROM given g
    ))
    RETURNING lane, position
  ),
  later AS (
    DELETE FROM outbox.scheduled
    WHERE ctid = ANY (ARRAY(
      SELECT s.row
      FROM given g
      CROSS JOIN LATERAL (
        SELECT s.ctid AS row, s.lane, s.id
        FROM outbox.scheduled s
        WHERE s.position = g.position
        OFFSET 0
      ) AS s
      WHERE s.lane = g.lane
        AND s.id = g.id
    ))
    RETURNING lane, position
  )
SELECT lane, position, false
FROM line
UNION ALL
SELECT lane, position, true
FROM aside
UNION ALL
SELECT lane, position, false
FROM later
