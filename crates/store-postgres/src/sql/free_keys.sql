-- Lets the keys $2 of the topics $1 go on, of which a message that was set aside is gone: a block behind which nothing waits goes, one whose message is gone is
-- due for the next, unless its topic is stopped. Never those of dead letters. The lanes are locked. By the primary keys of blocked_key and waiting.
WITH
  found AS MATERIALIZED (
    SELECT
      (SELECT b.ctid FROM outbox.blocked_key b WHERE b.topic = g.topic AND b.key = g.key AND b.reason <> 'dead') AS row,
      (
        SELECT w.position
        FROM outbox.waiting w
        WHERE w.topic = g.topic
          AND w.key = g.key
        ORDER BY w.topic, w.key, w.position
        LIMIT 1
      ) AS next
    FROM unnest($1::text[], $2::text[]) AS g (topic, key)
  ),
  emptied AS (
    DELETE FROM outbox.blocked_key
    WHERE ctid = ANY (ARRAY(SELECT f.row FROM found f WHERE f.next IS NULL))
  )
UPDATE outbox.blocked_key b
SET until = CASE WHEN b.reason = 'topic' THEN b.until ELSE clock_timestamp() END,
    reason = CASE WHEN b.reason = 'topic' THEN b.reason ELSE 'busy' END,
    position = f.next
FROM found f
WHERE b.ctid = f.row
  AND f.next IS NOT NULL
  -- A busy key that is due stays as it is: its position is for nobody, and each new version would stay as long as a snapshot that somebody holds.
  AND NOT (b.reason = 'busy' AND b.until <= clock_timestamp())
  AND (SELECT w.position FROM outbox.waiting w WHERE w.topic = b.topic AND w.key = b.key AND w.position = b.position) IS NULL
