-- Rows for every table that grows, with the numbers of a store that is behind: {pending} messages in the line over 10000 keys, and {one} of one key behind them,
-- {waiting} set aside over 200 keys, {aside} set aside by stops, half of them without a key, {scheduled} scheduled, half of them due (in {later} days), {published} published over the default partition and those of three days,
-- {dead} dead letters, half of which hold their keys, {ids} remembered ids, and as many of handled messages. What the rows mean stands in the migrations.
INSERT INTO outbox.message (lane, id, topic, key, payload)
SELECT outbox.lane_of('orders', n.key), 'line-' || n.n, 'orders', n.key, '\x7b7d'
FROM (SELECT n, 'key-' || n % 10000 AS key FROM generate_series(1, {pending}) AS n) AS n;

INSERT INTO outbox.message (lane, id, topic, key, payload)
SELECT outbox.lane_of('orders', 'one'), 'one-' || n, 'orders', 'one', '\x7b7d'
FROM generate_series(1, {one}) AS n;

INSERT INTO outbox.message (lane, id, topic, payload)
SELECT n % 64, 'free-' || n, 'notes', '\x7b7d'
FROM generate_series(1, 640) AS n;

INSERT INTO outbox.waiting (position, lane, id, topic, key, attempts, tries, saved_at, payload)
SELECT outbox.next_position(), outbox.lane_of('orders', n.key), 'waiting-' || n.n, 'orders', n.key, 0, 0, now(), '\x7b7d'
FROM (SELECT n, 'waiting-' || n % 200 AS key FROM generate_series(1, {waiting}) AS n) AS n;

INSERT INTO outbox.blocked_key (position, until, lane, topic, key, reason)
SELECT min(w.position), now() + {later} * interval '1 day' + (row_number() OVER () - 100) * interval '1 minute', w.lane, w.topic, w.key, 'retry'
FROM outbox.waiting AS w
GROUP BY w.lane, w.topic, w.key;

INSERT INTO outbox.topic_state (topic, cause, stopped_at, until, destination, relay, error)
SELECT 'away', 'destination', now(), now() + interval '1 day', 'broker', 'relay', 'refused'
UNION ALL
SELECT 'over', 'paused', now(), '-infinity', NULL, NULL, NULL
UNION ALL
SELECT 'paused-' || n, 'paused', now(), 'infinity', NULL, NULL, NULL
FROM generate_series(1, 20) AS n;

INSERT INTO outbox.waiting (position, lane, id, topic, key, attempts, tries, saved_at, payload)
SELECT outbox.next_position(), outbox.lane_of(n.topic, n.key), 'aside-' || n.n, n.topic, n.key, 0, 0, now(), '\x7b7d'
FROM (
  SELECT n, 'aside-' || n % 10000 AS key, CASE WHEN n % 3 = 0 THEN 'over' ELSE 'away' END AS topic
  FROM generate_series(1, {aside} / 2) AS n
) AS n;

INSERT INTO outbox.blocked_key (position, until, lane, topic, key, reason)
SELECT min(w.position), 'infinity', w.lane, w.topic, w.key, 'topic'
FROM outbox.waiting AS w
WHERE w.topic IN ('away', 'over')
GROUP BY w.lane, w.topic, w.key;

INSERT INTO outbox.scheduled (due_at, lane, id, topic, payload)
SELECT '200000-01-01 00:00:00+00', n % 64, 'aside-' || n, CASE WHEN n % 3 = 0 THEN 'over' ELSE 'away' END, '\x7b7d'
FROM generate_series(1, {aside} / 2) AS n;

INSERT INTO outbox.scheduled (due_at, lane, id, topic, key, payload)
SELECT now() + {later} * interval '1 day' + (n.n - {scheduled} / 2) * interval '1 second', coalesce(outbox.lane_of('orders', n.key), n.n % 64), 'scheduled-' || n.n, 'orders', n.key, '\x7b7d'
FROM (SELECT n, CASE WHEN n % 2 = 0 THEN 'key-' || n % 10000 END AS key FROM generate_series(1, {scheduled}) AS n) AS n;

INSERT INTO outbox.dead (position, attempts, tries, saved_at, died_at, lane, id, topic, key, reason, after, payload)
SELECT outbox.next_position(), 1, 1, now(), now(), outbox.lane_of('orders', n.key), 'dead-' || n.n, 'orders', n.key, 'attempts',
  CASE WHEN n.n % 2 = 0 THEN 'hold' ELSE 'skip' END, '\x7b7d'
FROM (SELECT n, 'dead-' || n AS key FROM generate_series(1, {dead}) AS n) AS n;

INSERT INTO outbox.blocked_key (position, until, lane, topic, key, reason)
SELECT d.position, 'infinity', d.lane, d.topic, d.key, 'dead'
FROM outbox.dead AS d
WHERE d.after = 'hold';

INSERT INTO outbox.saved_id (id, expires_at)
SELECT 'saved-' || n, now() + (n - {ids} / 2) * interval '1 second'
FROM generate_series(1, {ids}) AS n;

INSERT INTO outbox.inbox (consumer, message_id, handled_at)
SELECT 'billing', 'handled-' || n, now() + (n - {ids} / 2) * interval '1 second'
FROM generate_series(1, {ids}) AS n;

INSERT INTO outbox.published (position, attempts, tries, saved_at, published_at, lane, id, topic, key, payload)
SELECT n, 0, 0, now(), timestamptz '2020-01-01 00:00:00+00' + (n % 8) * interval '12 hours' + n * interval '10 ms', n % 64, 'published-' || n, 'orders', NULL, '\x7b7d'
FROM generate_series(1, {published}) AS n;

UPDATE outbox.lane SET careful = 1 WHERE lane = 63;
INSERT INTO outbox.start_mark (lane, position, holder, id)
SELECT n % 64, n, 'gone', 'line-' || n
FROM generate_series(1, 640) AS n;
