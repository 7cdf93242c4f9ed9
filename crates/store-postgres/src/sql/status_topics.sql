-- The messages of each topic by state: in the line, set aside, scheduled, dead, ready, held by a dead letter, for later, and since when the oldest ready
-- one waits. It reads every table once, for people; claims never do. Served by the primary keys of message and scheduled, whose lanes are all wanted, by
-- that of waiting, and by dead_key.
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
      CASE WHEN s.due_at > now() AND s.tries = 0 THEN 1 ELSE 0 END
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
  sum(c.line)::bigint,
  sum(c.waiting)::bigint,
  sum(c.scheduled)::bigint,
  sum(c.dead)::bigint,
  sum(c.ready)::bigint,
  sum(c.held)::bigint,
  sum(c.later)::bigint,
  (extract(epoch FROM min(c.oldest)) * 1000)::bigint
FROM counted c
GROUP BY c.topic
ORDER BY c.topic
