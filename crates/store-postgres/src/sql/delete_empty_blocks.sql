-- Deletes the blocks of the keys $2 of the topics $1 behind which nothing waits at all; never those of dead letters. The lanes are locked. Served by the primary
-- keys of blocked_key and waiting.
DELETE FROM outbox.blocked_key
WHERE ctid = ANY (ARRAY(
  SELECT (
    SELECT b.ctid
    FROM outbox.blocked_key b
    WHERE b.topic = g.topic
      AND b.key = g.key
      AND b.reason <> 'dead'
      AND (
        SELECT w.position
        FROM outbox.waiting w
        WHERE w.topic = g.topic
          AND w.key = g.key
        ORDER BY w.topic, w.key, w.position
        LIMIT 1
      ) IS NULL
  )
  FROM unnest($1::text[], $2::text[]) AS g (topic, key)
))
RETURNING 1
