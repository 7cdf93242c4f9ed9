-- Lanes that are leased, whose lease ran out on a holder, or that are served carefully, for people.
SELECT
  l.lane,
  l.relay,
  CASE WHEN isfinite(l.lease_until) THEN (extract(epoch FROM l.lease_until) * 1000)::bigint END,
  l.careful
FROM generate_series(0, 63) AS g (lane)
CROSS JOIN LATERAL (
  SELECT *
  FROM outbox.lane l
  WHERE l.lane = g.lane::smallint
  ORDER BY l.lane DESC, l.epoch DESC
  LIMIT 1
) AS l
WHERE l.holder IS NOT NULL
  OR l.careful > 0
ORDER BY l.lane
