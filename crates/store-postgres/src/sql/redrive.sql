-- Makes those of the dead letters $1 = positions that are still there pending again; their lanes are locked, so that nobody else moves them. One that
-- holds its key waits in it again, in its old place, and its key is due. Every other one joins the line with a new position, in the order of the old ones.
-- Answers for each whether it went to the tail though it has a key. Dead letters by primary key, their blocks and marks by theirs.
WITH
  letter AS (
    DELETE FROM outbox.dead d
    WHERE d.ctid = ANY (ARRAY(
      SELECT (SELECT l.ctid FROM outbox.dead l WHERE l.position = given.position)
      FROM unnest($1::bigint[]) AS given (position)
    ))
    RETURNING
      d.position,
      d.saved_at,
      d.lane,
      CASE WHEN d.key IS NULL THEN d.lane ELSE outbox.lane_of(d.topic, d.key) END AS home,
      d.id,
      d.topic,
      d.key,
      d.content_type,
      d.headers,
      d.payload,
      (
        SELECT b.ctid
        FROM outbox.blocked_key b
        WHERE b.topic = d.topic
          AND b.key = d.key
          AND b.reason = 'dead'
          AND b.position = d.position
      ) AS block
  ),
  unmarked AS (
    DELETE FROM outbox.start_mark s
    WHERE s.ctid = ANY (ARRAY(
      SELECT m.ctid
      FROM letter l
      CROSS JOIN LATERAL (SELECT s.ctid FROM outbox.start_mark s WHERE s.lane = l.lane AND s.position = l.position OFFSET 0) AS m
    ))
  ),
  released AS (
    UPDATE outbox.blocked_key b
    SET until = clock_timestamp(),
        reason = 'retry'
    WHERE b.ctid = ANY (ARRAY(SELECT l.block FROM letter l))
  ),
  waits AS (
    INSERT INTO outbox.waiting (position, attempts, tries, saved_at, lane, id, topic, key, content_type, headers, error, payload)
    SELECT l.position, 0, 0, l.saved_at, l.home, l.id, l.topic, l.key, l.content_type, l.headers, NULL, l.payload
    FROM letter l
    WHERE l.block IS NOT NULL
  ),
  joins AS (
    INSERT INTO outbox.message (position, attempts, tries, saved_at, lane, id, topic, key, content_type, headers, error, payload)
    SELECT outbox.next_position(), 0, 0, l.saved_at, l.home, l.id, l.topic, l.key, l.content_type, l.headers, NULL, l.payload
    FROM (SELECT * FROM letter WHERE block IS NULL ORDER BY position) AS l
  )
SELECT l.block IS NULL AND l.key IS NOT NULL
FROM letter l
