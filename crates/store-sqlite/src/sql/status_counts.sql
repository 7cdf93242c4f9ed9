-- The counts of a status. It reads every table, for people; claims never do.
WITH
  clock (now) AS MATERIALIZED (SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER)),
  -- What may run as far as it is concerned itself, since when it waits, and what its key says.
  runnable (since, until, reason) AS MATERIALIZED (
    SELECT m.saved_at, b.until, b.reason
    FROM outbox_message m
    LEFT JOIN outbox_blocked_key b ON b.topic = m.topic AND b.key = m.key
    UNION ALL
    SELECT w.saved_at, b.until, b.reason
    FROM outbox_waiting w
    LEFT JOIN outbox_blocked_key b ON b.topic = w.topic AND b.key = w.key
    UNION ALL
    SELECT s.due_at, b.until, b.reason
    FROM outbox_scheduled s
    LEFT JOIN outbox_blocked_key b ON b.topic = s.topic AND b.key = s.key
    WHERE s.due_at <= (SELECT now FROM clock)
  ),
  ready (messages, oldest) AS MATERIALIZED (
    SELECT count(*), min(since)
    FROM runnable
    WHERE reason IS NULL OR (reason <> 'dead' AND until <= (SELECT now FROM clock))
  )
SELECT
  clock.now,
  (SELECT version FROM outbox_schema_version WHERE one = 1) AS version,
  (SELECT count(*) FROM outbox_message) AS line,
  (SELECT count(*) FROM outbox_waiting) AS waiting,
  (SELECT count(*) FROM outbox_scheduled) AS scheduled,
  (SELECT count(*) FROM outbox_dead) AS dead,
  (SELECT count(*) FROM outbox_blocked_key WHERE reason <> 'busy') AS blocked,
  (SELECT count(*) FROM outbox_scheduled WHERE tries = 0 AND due_at > clock.now) AS later,
  (SELECT count(*) FROM runnable WHERE reason = 'dead') AS held,
  (SELECT messages FROM ready) AS ready,
  (SELECT oldest FROM ready) AS oldest,
  (
    SELECT min(due)
    FROM (
      SELECT min(due_at) AS due
      FROM outbox_scheduled
      WHERE due_at > clock.now
      UNION ALL
      SELECT min(until)
      FROM outbox_blocked_key
      WHERE until > clock.now
        AND reason = 'retry'
    )
  ) AS next_due
FROM clock
