-- Frees at most $4 rows that the stops of the topics $1 set aside in the lanes $2 = those from $3 on, if these stops are still over: they are due now. If that is all,
-- the lanes are noted as freed, and a stop of which all 64 are goes. Answers how many rows were freed or removed, and whether lanes were noted.
--
-- The lanes are locked, and the ends of the stops were committed before: whoever still saw one had its lanes locked before that, and what it set aside is seen
-- here. So nothing can come to a lane in which nothing is found here, unless its topic is stopped anew: then no lane counts as freed any more (stop_topics), and
-- the row is changed here only as long as it is as it was read. A row that somebody else just changes is not waited for.
--
-- By the primary key of topic_state, blocked_key_topic and scheduled_topic.
WITH
  over AS MATERIALIZED (
    SELECT t.topic
    FROM outbox.topic_state t
    WHERE t.topic = ANY ($1::text[])
      AND t.until = '-infinity'
      AND t.freed = $3::bigint
  ),
  place AS MATERIALIZED (
    SELECT o.topic, g.lane::smallint AS lane
    FROM over o
    CROSS JOIN unnest($2::bigint[]) AS g (lane)
  ),
  found AS MATERIALIZED (
    SELECT f.*
    FROM (
      SELECT b.row AS block, NULL::tid AS later
      FROM place p
      CROSS JOIN LATERAL (
        SELECT b.ctid AS row
        FROM outbox.blocked_key b
        WHERE b.topic = p.topic
          AND b.lane = p.lane
          AND b.reason = 'topic'
        ORDER BY b.topic, b.lane
        LIMIT $4
      ) AS b
      UNION ALL
      SELECT NULL, s.row
      FROM place p
      CROSS JOIN LATERAL (
        SELECT s.ctid AS row
        FROM outbox.scheduled s
        WHERE s.topic = p.topic
          AND s.lane = p.lane
          AND s.due_at = '200000-01-01 00:00:00+00'
        ORDER BY s.topic, s.lane
        LIMIT $4
      ) AS s
    ) AS f
    LIMIT $4
  ),
  keyed AS (
    UPDATE outbox.blocked_key
    SET until = clock_timestamp(),
        reason = 'retry'
    WHERE ctid = ANY (ARRAY(SELECT f.block FROM found f WHERE f.block IS NOT NULL))
  ),
  unkeyed AS (
    UPDATE outbox.scheduled
    SET due_at = clock_timestamp()
    WHERE ctid = ANY (ARRAY(SELECT f.later FROM found f WHERE f.later IS NOT NULL))
  ),
  done AS MATERIALIZED (
    SELECT t.topic
    FROM outbox.topic_state t
    WHERE t.topic = ANY (ARRAY(SELECT o.topic FROM over o))
      AND t.until = '-infinity'
      AND t.freed = $3::bigint
      AND (SELECT count(*) FROM found) < $4
    ORDER BY t.topic
    FOR UPDATE SKIP LOCKED
  ),
  noted AS (
    UPDATE outbox.topic_state t
    SET freed = $3::bigint + cardinality($2::bigint[])
    FROM done d
    WHERE t.topic = d.topic
      AND $3::bigint + cardinality($2::bigint[]) < 64
  ),
  gone AS (
    DELETE FROM outbox.topic_state t
    USING done d
    WHERE t.topic = d.topic
      AND $3::bigint + cardinality($2::bigint[]) >= 64
    RETURNING 1
  )
SELECT
  (SELECT count(*) FROM found) + (SELECT count(*) FROM gone),
  (SELECT count(*) FROM done) > 0
