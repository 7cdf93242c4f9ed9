-- What stops set aside is pending as before; nothing is stopped any more.
DROP VIEW outbox.stopped;
DROP VIEW outbox.blocked;
DROP VIEW outbox.backlog;
DROP VIEW outbox.pending;
DROP INDEX outbox.scheduled_topic;
DROP INDEX outbox.blocked_key_topic;
DROP TABLE outbox.topic_state;

UPDATE outbox.blocked_key
SET until = now(),
    reason = 'retry'
WHERE reason = 'topic';

UPDATE outbox.scheduled
SET due_at = now()
WHERE due_at = '200000-01-01 00:00:00+00';

-- Everything pending. due_at is since when or from when on it can go out: infinity if a dead letter holds its key.
CREATE VIEW outbox.pending AS
SELECT
  p.position,
  p.state,
  p.due_at <= statement_timestamp() AS ready,
  p.due_at,
  p.blocked,
  p.topic,
  p.key,
  p.id,
  p.attempts,
  p.tries,
  p.error,
  p.saved_at,
  p.lane,
  p.content_type,
  p.headers,
  outbox.text_of(p.payload) AS payload_text,
  p.payload
FROM (
  SELECT
    'line' AS state,
    coalesce(b.until, m.saved_at) AS due_at,
    b.reason AS blocked,
    m.position, m.topic, m.key, m.id, m.attempts, m.tries, m.error, m.saved_at, m.lane, m.content_type, m.headers, m.payload
  FROM outbox.message AS m
  LEFT JOIN outbox.blocked_key AS b ON b.topic = m.topic AND b.key = m.key
  UNION ALL
  SELECT
    'waiting',
    coalesce(b.until, w.saved_at),
    b.reason,
    w.position, w.topic, w.key, w.id, w.attempts, w.tries, w.error, w.saved_at, w.lane, w.content_type, w.headers, w.payload
  FROM outbox.waiting AS w
  LEFT JOIN outbox.blocked_key AS b ON b.topic = w.topic AND b.key = w.key
  UNION ALL
  SELECT
    'scheduled',
    greatest(s.due_at, b.until),
    b.reason,
    s.position, s.topic, s.key, s.id, s.attempts, s.tries, s.error, s.saved_at, s.lane, s.content_type, s.headers, s.payload
  FROM outbox.scheduled AS s
  LEFT JOIN outbox.blocked_key AS b ON b.topic = s.topic AND b.key = s.key
) AS p;

-- How many messages of each topic are pending, could go out now, are held by a dead letter of their key, wait for a time; and how many are dead.
CREATE VIEW outbox.backlog AS
SELECT
  t.topic,
  count(*) FILTER (WHERE t.due_at IS NOT NULL) AS pending,
  count(*) FILTER (WHERE t.due_at <= statement_timestamp()) AS ready,
  count(*) FILTER (WHERE t.due_at = 'infinity') AS held,
  count(*) FILTER (WHERE t.due_at > statement_timestamp() AND t.due_at < 'infinity') AS later,
  count(*) FILTER (WHERE t.due_at IS NULL) AS dead,
  min(t.due_at) FILTER (WHERE t.due_at <= statement_timestamp()) AS oldest_ready
FROM (
  SELECT topic, due_at FROM outbox.pending
  UNION ALL
  SELECT topic, NULL FROM outbox.dead
) AS t
GROUP BY t.topic;

-- The keys that wait: for the retry of a message, or for a person to redrive or discard a dead letter.
CREATE VIEW outbox.blocked AS
SELECT
  b.topic,
  b.key,
  b.reason,
  CASE WHEN isfinite(b.until) THEN b.until END AS next_try,
  b.position,
  coalesce(w.attempts, d.attempts) AS attempts,
  coalesce(w.error, d.error) AS error,
  (SELECT count(*) FROM outbox.waiting AS v WHERE v.topic = b.topic AND v.key = b.key) AS set_aside,
  b.lane
FROM outbox.blocked_key AS b
LEFT JOIN outbox.waiting AS w ON w.topic = b.topic AND w.key = b.key AND w.position = b.position
LEFT JOIN outbox.dead AS d ON d.position = b.position
WHERE b.reason <> 'busy';

UPDATE outbox.schema_version SET version = 4;
