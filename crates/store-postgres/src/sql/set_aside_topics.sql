-- Sets the messages at the positions $2 of the lanes $1 aside, whose topics are stopped: with a key behind a block until infinity, unless the key is blocked
-- already; without one for the year 200000. The lanes are locked. By the primary keys of message and blocked_key.
WITH
  gone AS (
    DELETE FROM outbox.message
    WHERE ctid = ANY (ARRAY(
      SELECT (SELECT m.ctid FROM outbox.message m WHERE m.lane = g.lane::smallint AND m.position = g.position)
      FROM unnest($1::bigint[], $2::bigint[]) AS g (lane, position)
    ))
    RETURNING lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, payload
  ),
  blocked AS (
    INSERT INTO outbox.blocked_key (lane, topic, key, until, reason, position)
    SELECT g.lane, g.topic, g.key, 'infinity', 'topic', min(g.position)
    FROM gone g
    WHERE g.key IS NOT NULL
    GROUP BY g.lane, g.topic, g.key
    ON CONFLICT (topic, key) DO NOTHING
  ),
  waits AS (
    INSERT INTO outbox.waiting (lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, payload)
    SELECT lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, payload
    FROM gone
    WHERE key IS NOT NULL
  )
INSERT INTO outbox.scheduled (lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, due_at, payload)
SELECT lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, '200000-01-01 00:00:00+00', payload
FROM gone
WHERE key IS NULL
