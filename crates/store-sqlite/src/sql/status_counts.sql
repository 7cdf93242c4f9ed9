-- The counts of a status. It reads every table, for people; claims never do.
WITH
  clock (now) AS MATERIALIZED (SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER)),
  stopped (topic, cause) AS MATERIALIZED (
    SELECT topic, cause
    FROM outbox_topic_state
    WHERE until > (SELECT now FROM clock)
  ),
  paused (topic) AS MATERIALIZED (SELECT topic FROM stopped WHERE cause = 'paused'),
  -- What may run as far as it is concerned itself, since when it waits, and what its key and its topic say. Nothing of it is paused.
  runnable (since, until, reason, stopped) AS MATERIALIZED (
    SELECT m.saved_at, b.until, b.reason, m.topic IN (SELECT topic FROM stopped)
    FROM outbox_message m
    LEFT JOIN outbox_blocked_key b ON b.topic = m.topic AND b.key = m.key
    WHERE m.topic NOT IN (SELECT topic FROM paused)
    UNION ALL
    SELECT w.saved_at, b.until, b.reason, w.topic IN (SELECT topic FROM stopped)
    FROM outbox_waiting w
    LEFT JOIN outbox_blocked_key b ON b.topic = w.topic AND b.key = w.key
    WHERE w.topic NOT IN (SELECT topic FROM paused)
    UNION ALL
    SELECT s.due_at, b.until, b.reason, s.topic IN (SELECT topic FROM stopped)
    FROM outbox_scheduled s
    LEFT JOIN outbox_blocked_key b ON b.topic = s.topic AND b.key = s.key
    WHERE s.due_at <= (SELECT now FROM clock)
      AND s.topic NOT IN (SELECT topic FROM paused)
  ),
  ready (messages, oldest) AS MATERIALIZED (
    SELECT count(*), min(since)
    FROM runnable
    WHERE NOT stopped
      AND (reason IS NULL OR (reason <> 'dead' AND until <= (SELECT now FROM clock)))
  )
SELECT
  clock.now,
  (SELECT version FROM outbox_schema_version WHERE one = 1) AS version,
  (SELECT count(*) FROM outbox_message) AS line,
  (SELECT count(*) FROM outbox_waiting) AS waiting,
  (SELECT count(*) FROM outbox_scheduled) AS scheduled,
  (SELECT count(*) FROM outbox_dead) AS dead,
  (SELECT count(*) FROM outbox_blocked_key WHERE reason NOT IN ('busy', 'topic')) AS blocked,
  (
    SELECT count(*)
    FROM outbox_scheduled
    WHERE tries = 0
      AND due_at > clock.now
      AND due_at < 9223372036854775807
      AND topic NOT IN (SELECT topic FROM paused)
  ) AS later,
  (SELECT count(*) FROM runnable WHERE reason = 'dead') AS held,
  (SELECT count(*) FROM outbox_message WHERE topic IN (SELECT topic FROM paused))
    + (SELECT count(*) FROM outbox_waiting WHERE topic IN (SELECT topic FROM paused))
    + (SELECT count(*) FROM outbox_scheduled WHERE topic IN (SELECT topic FROM paused)) AS paused,
  (SELECT messages FROM ready) AS ready,
  (SELECT oldest FROM ready) AS oldest,
  (
    SELECT min(due)
    FROM (
      SELECT min(due_at) AS due
      FROM outbox_scheduled
      WHERE due_at > clock.now
        AND due_at < 9223372036854775807
      UNION ALL
      SELECT min(until)
      FROM outbox_blocked_key
      WHERE until > clock.now
        AND reason = 'retry'
    )
  ) AS next_due
FROM clock
