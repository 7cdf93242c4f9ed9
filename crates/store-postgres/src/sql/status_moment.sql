-- The moment of a status, which is the begin of its transaction, the schema's version, how many keys are blocked, and when the next message falls due. The
-- due times of each lane by the primary key of scheduled and by blocked_key_until; blocked keys by it too, all of them.
SELECT
  (extract(epoch FROM now()) * 1000)::bigint,
  (SELECT v.version FROM outbox.schema_version v WHERE v.one),
  (SELECT count(*) FROM outbox.blocked_key b WHERE b.lane >= 0 AND b.reason NOT IN ('busy', 'topic')),
  (
    SELECT (extract(epoch FROM min(due.at)) * 1000)::bigint
    FROM (SELECT g::smallint AS lane FROM generate_series(0, 63) AS g) AS l
    CROSS JOIN LATERAL (
      SELECT (
        SELECT s.due_at
        FROM outbox.scheduled s
        WHERE s.lane = l.lane
          AND s.due_at > now()
          -- Not what a stop set aside.
          AND s.due_at < '200000-01-01 00:00:00+00'
        ORDER BY s.due_at
        LIMIT 1
      ) AS at
      UNION ALL
      SELECT (
        SELECT b.until
        FROM outbox.blocked_key b
        WHERE b.lane = l.lane
          AND b.until > now()
          AND b.until < 'infinity'
          AND b.reason = 'retry'
        ORDER BY b.until
        LIMIT 1
      )
    ) AS due
  )
