-- Pending and dead messages by topic, for people. It reads every table.
SELECT topic, sum(pending) AS pending, sum(dead) AS dead
FROM (
  SELECT topic, count(*) AS pending, 0 AS dead FROM outbox_message GROUP BY topic
  UNION ALL
  SELECT topic, count(*), 0 FROM outbox_waiting GROUP BY topic
  UNION ALL
  SELECT topic, count(*), 0 FROM outbox_scheduled GROUP BY topic
  UNION ALL
  SELECT topic, 0, count(*) FROM outbox_dead GROUP BY topic
)
GROUP BY topic
ORDER BY topic
