-- The lanes as a claim sees them, least recently served first, with the clock, a random holder and the schema version. Each sub-select
-- reads one entry of an index: outbox_message_lane, outbox_scheduled_due, outbox_blocked_key_until.
WITH
  clock (now, nonce) AS MATERIALIZED (
    SELECT
      CAST(unixepoch('subsec') * 1000 AS INTEGER),
      lower(hex(randomblob(16)))
  )
SELECT
  l.lane,
  l.epoch,
  l.holder IS NOT NULL AS held,
  l.lease_until,
  l.turn,
  l.careful,
  clock.now,
  clock.nonce,
  (SELECT v.version FROM outbox_schema_version v WHERE v.one = 1) AS version,
  (
    SELECT m.position
    FROM outbox_message m
    WHERE m.lane = l.lane
    ORDER BY m.position
    LIMIT 1
  ) AS line,
  (
    SELECT s.due_at
    FROM outbox_scheduled s
    WHERE s.lane = l.lane
    ORDER BY s.due_at
    LIMIT 1
  ) AS scheduled,
  (
    SELECT s.due_at
    FROM outbox_scheduled s
    WHERE s.lane = l.lane
      AND s.due_at > clock.now
      AND s.due_at < 9223372036854775807
    ORDER BY s.due_at
    LIMIT 1
  ) AS scheduled_next,
  (
    SELECT b.until
    FROM outbox_blocked_key b
    WHERE b.lane = l.lane
    ORDER BY b.until
    LIMIT 1
  ) AS blocked,
  (
    SELECT b.until
    FROM outbox_blocked_key b
    WHERE b.lane = l.lane
      AND b.until > clock.now
      AND b.until < 9223372036854775807
    ORDER BY b.until
    LIMIT 1
  ) AS blocked_next
FROM outbox_lane l
CROSS JOIN clock
ORDER BY l.turn, l.lane
