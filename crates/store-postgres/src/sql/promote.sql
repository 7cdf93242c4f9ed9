-- Moves what fell due into the line, at most $2 messages of each lane of $1, under the position they were saved with: so they lower floor, and the line must be
-- looked at anew for keys that keep a lane to themselves. Answers how many. The lanes are locked. Served by the primary key of scheduled.
WITH
  due AS MATERIALIZED (
    SELECT s.row
    FROM unnest($1::bigint[]) AS g (lane)
    CROSS JOIN LATERAL (
      SELECT s.ctid AS row
      FROM outbox.scheduled s
      WHERE s.lane = g.lane::smallint
        AND s.due_at <= now()
      ORDER BY s.lane, s.due_at, s.position
      LIMIT $2
    ) AS s
  ),
  gone AS (
    DELETE FROM outbox.scheduled
    WHERE ctid = ANY (ARRAY(SELECT d.row FROM due d))
    RETURNING lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, payload
  ),
  joined AS (
    INSERT INTO outbox.message (lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, payload)
    SELECT lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, payload
    FROM gone
    RETURNING lane, position
  ),
  lowered AS (
    UPDATE outbox.lane l
    SET floor = least(l.floor, j.position),
        ahead = 0
    FROM (
      SELECT
        j.lane,
        min(j.position) AS position,
        (
          SELECT n.epoch
          FROM outbox.lane n
          WHERE n.lane = j.lane
          ORDER BY n.lane DESC, n.epoch DESC
          LIMIT 1
        ) AS epoch
      FROM joined j
      GROUP BY j.lane
    ) AS j
    WHERE l.lane = j.lane
      AND l.epoch = j.epoch
  )
SELECT count(*)
FROM joined
