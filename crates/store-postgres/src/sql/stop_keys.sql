-- The keys $2 of the topics $1 fell due, and their topics are stopped: they wait for that from now on. The lanes are locked. By the primary key of blocked_key.
UPDATE outbox.blocked_key
SET until = 'infinity',
    reason = 'topic'
WHERE ctid = ANY (ARRAY(
  SELECT (
    SELECT b.ctid
    FROM outbox.blocked_key b
    WHERE b.topic = g.topic
      AND b.key = g.key
      AND b.reason <> 'dead'
  )
  FROM unnest($1::text[], $2::text[]) AS g (topic, key)
))
