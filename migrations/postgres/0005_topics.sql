-- Stopped topics: paused by an operator, or kept back because their destination is down.

-- A topic is stopped while until is to come. An ended stop keeps its row, with until in the past, as long as anything that it set aside is not freed:
-- a claim that still saw the stop holds its lanes, so the end is committed before the first lane is freed, and the row goes when all lanes were.
CREATE TABLE outbox.topic_state (
  stopped_at timestamptz NOT NULL,
  -- Infinity: until somebody resumes it. Minus infinity: ended.
  until timestamptz NOT NULL,
  -- The one message that is let through although the topic is stopped, and the lane of the last one.
  probe bigint,
  probe_lane smallint NOT NULL DEFAULT -1,
  -- The lanes below this one hold nothing any more of an ended stop.
  freed smallint NOT NULL DEFAULT 0 CHECK (freed BETWEEN 0 AND 64),
  topic text COLLATE "C" PRIMARY KEY CHECK (octet_length(topic) BETWEEN 1 AND 255),
  cause text NOT NULL CHECK (cause IN ('paused', 'destination')),
  destination text,
  relay text,
  error text
);

-- What a stop set aside. A key has a block of reason topic, until infinity. A message without one is scheduled for a time that nobody gives: the first
-- moment of the year 200000 in UTC, at which nothing is ever due.
CREATE INDEX blocked_key_topic ON outbox.blocked_key (topic, lane) WHERE reason = 'topic';
CREATE INDEX scheduled_topic ON outbox.scheduled (topic, lane) WHERE due_at = '200000-01-01 00:00:00+00';

-- Everything pending. due_at is since when or from when on it can go out: infinity if a dead letter holds its key, or if its topic is stopped for a time that
-- nobody knows. stopped says why its topic is stopped.
CREATE OR REPLACE VIEW outbox.pending AS
SELECT
  p.position,
  p.state,
  greatest(p.due_at, t.until) <= statement_timestamp() AS ready,
  greatest(p.due_at, t.until) AS due_at,
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
  p.payload,
  t.cause AS stopped
FROM (
  SELECT
    'line' AS state,
    CASE WHEN b.reason <> 'topic' THEN b.until ELSE m.saved_at END AS due_at,
    nullif(b.reason, 'topic') AS blocked,
    m.position, m.topic, m.key, m.id, m.attempts, m.tries, m.error, m.saved_at, m.lane, m.content_type, m.headers, m.payload
  FROM outbox.message AS m
  LEFT JOIN outbox.blocked_key AS b ON b.topic = m.topic AND b.key = m.key
  UNION ALL
  SELECT
    'waiting',
    CASE WHEN b.reason <> 'topic' THEN b.until ELSE w.saved_at END,
    nullif(b.reason, 'topic'),
    w.position, w.topic, w.key, w.id, w.attempts, w.tries, w.error, w.saved_at, w.lane, w.content_type, w.headers, w.payload
  FROM outbox.waiting AS w
  LEFT JOIN outbox.blocked_key AS b ON b.topic = w.topic AND b.key = w.key
  UNION ALL
  SELECT
    CASE WHEN s.due_at = '200000-01-01 00:00:00+00' THEN 'waiting' ELSE 'scheduled' END,
    greatest(
      CASE WHEN s.due_at = '200000-01-01 00:00:00+00' THEN s.saved_at ELSE s.due_at END,
      CASE WHEN b.reason <> 'topic' THEN b.until END
    ),
    nullif(b.reason, 'topic'),
    s.position, s.topic, s.key, s.id, s.attempts, s.tries, s.error, s.saved_at, s.lane, s.content_type, s.headers, s.payload
  FROM outbox.scheduled AS s
  LEFT JOIN outbox.blocked_key AS b ON b.topic = s.topic AND b.key = s.key
) AS p
LEFT JOIN outbox.topic_state AS t ON t.topic = p.topic
  AND t.until > statement_timestamp();

-- How many messages of each topic are pending, could go out now, are held by a dead letter of their key, wait for a time; and how many are dead. stopped says
-- why none goes out.
CREATE OR REPLACE VIEW outbox.backlog AS
SELECT
  t.topic,
  count(*) FILTER (WHERE t.due_at IS NOT NULL) AS pending,
  count(*) FILTER (WHERE t.due_at <= statement_timestamp()) AS ready,
  count(*) FILTER (WHERE t.blocked = 'dead') AS held,
  count(*) FILTER (WHERE t.due_at > statement_timestamp() AND t.due_at < 'infinity') AS later,
  count(*) FILTER (WHERE t.due_at IS NULL) AS dead,
  min(t.due_at) FILTER (WHERE t.due_at <= statement_timestamp()) AS oldest_ready,
  max(t.stopped) AS stopped
FROM (
  SELECT topic, stopped, due_at, blocked FROM outbox.pending
  UNION ALL
  SELECT topic, NULL, NULL, NULL FROM outbox.dead
) AS t
GROUP BY t.topic;

-- The keys that wait: for the retry of a message, or for a person to redrive or discard a dead letter. Not those that wait for their topic.
CREATE OR REPLACE VIEW outbox.blocked AS
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
WHERE b.reason NOT IN ('busy', 'topic');

-- The topics that are stopped, or whose messages are still being freed: over says that.
CREATE VIEW outbox.stopped AS
SELECT
  t.topic,
  t.cause,
  t.until <= statement_timestamp() AS over,
  t.stopped_at,
  CASE WHEN isfinite(t.until) THEN t.until END AS until,
  t.destination,
  t.relay,
  t.error
FROM outbox.topic_state AS t;

UPDATE outbox.schema_version SET version = 5;
