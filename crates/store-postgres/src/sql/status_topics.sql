-- The messages of each topic by state: in the line, set aside, scheduled, dead, ready, held by a dead letter, for later, paused, and since when the oldest ready
-- one waits. None of a stopped topic is ready, and those of a paused one are nothing but paused. It reads every table once, for people; claims never do. Served by the primary keys of message and scheduled, whose lanes are all wanted, by
-- that of waiting, by dead_key, and by that of topic_state.
WITH
  -- What may run as far as it is concerned itself, since when it waits, and what its key says.
  runnable AS (
    SELECT m.topic, m.saved_at AS since, b.until, b.reason, 1 AS line, 0 AS waiting, 0 AS scheduled, 0 AS later
    FROM outbox.message m
    LEFT JOIN outbox.blocked_key b ON b.topic = m.topic AND b.key = m.key
    WHERE m.lane >= 0
    UNION ALL
    SELECT w.topic, w.saved_at, b.until, b.reason, 0, 1, 0, 0
    FROM outbox.waiting w
    LEFT JOIN outbox.blocked_key b ON b.topic = w.topic AND b.key = w.key
    WHERE w.topic >= ''
    UNION ALL
    -- One that is not due yet is not ready, whatever its key says.
    SELECT
      s.topic,
      s.due_at,
      CASE WHEN s.due_at <= now() THEN b.until ELSE 'infinity' END,
      CASE WHEN s.due_at <= now() THEN b.reason ELSE 'later' END,
      0,
      0,
      1,
      CASE WHEN s.due_at > now() AND s.tries = 0 AND s.due_at <> '200000-01-01 00:00:00+00' THEN 1 ELSE 0 END
    FROM outbox.scheduled s
    LEFT JOIN outbox.blocked_key b ON b.topic = s.topic AND b.key = s.key
    WHERE s.lane >= 0
  ),
  counted AS (
    SELECT
      r.topic,
      sum(r.line) AS line,
      sum(r.waiting) AS waiting,
      sum(r.scheduled) AS scheduled,
      0 AS dead,
      count(*) FILTER (WHERE r.reason IS NULL OR (r.reason <> 'dead' AND r.until <= now())) AS ready,
      count(*) FILTER (WHERE r.reason = 'dead') AS held,
      sum(r.later) AS later,
      min(r.since) FILTER (WHERE r.reason IS NULL OR (r.reason <> 'dead' AND r.until <= now())) AS oldest
    FROM runnable r
    GROUP BY r.topic
    UNION ALL
    SELECT d.topic, 0, 0, 0, count(*), 0, 0, 0, NULL
    FROM outbox.dead d
    WHERE d.topic >= ''
    GROUP BY d.topic
  )
SELECT
  c.topic,
  c.line,
  c.waiting,
  c.scheduled,
  c.dead,
  CASE WHEN c.stopped IS NULL THEN c.ready ELSE 0 END,
  CASE WHEN c.stopped = 'paused' THEN 0 ELSE c.held END,
  CASE WHEN c.stopped = 'paused' THEN 0 ELSE c.later END,
  CASE WHEN c.stopped = 'paused' THEN c.line + c.waiting + c.scheduled ELSE 0 END,
  CASE WHEN c.stopped IS NULL THEN (extract(epoch FROM c.oldest) * 1000)::bigint END
FROM (
  SELECT
    c.topic,
    sum(c.line)::bigint AS line,
    sum(c.waiting)::bigint AS waiting,
    sum(c.scheduled)::bigint AS scheduled,
    sum(c.dead)::bigint AS dead,
    sum(c.ready)::bigint AS ready,
    sum(c.held)::bigint AS held,
    sum(c.later)::bigint AS later,
    min(c.oldest) AS oldest,
    (
      SELECT t.cause
      FROM outbox.topic_state t
      WHERE t.topic = c.topic
        AND t.until > now()
    ) AS stopped
  FROM counted c
  GROUP BY c.topic
) AS c
ORDER BY c.topic
