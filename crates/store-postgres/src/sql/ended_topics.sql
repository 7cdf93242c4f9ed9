-- The ended stops that come next to be freed: of those of which the fewest lanes were freed at most $1, and how many lanes. It reads the table, which has a row for
-- each stopped topic.
SELECT t.topic, t.freed
FROM outbox.topic_state t
WHERE t.until = '-infinity'
  AND t.freed = (SELECT min(e.freed) FROM outbox.topic_state e WHERE e.until = '-infinity')
ORDER BY t.topic
LIMIT $1
