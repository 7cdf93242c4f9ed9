-- Lanes that are leased, whose lease ran out on a holder, or that are served carefully, for people.
SELECT
  l.lane,
  l.relay,
  CASE WHEN isfinite(l.lease_until) THEN (extract(epoch FROM l.lease_until) * 1000)::bigint END,
  l.careful
FROM outbox.lane l
WHERE l.holder IS NOT NULL
  OR l.careful > 0
ORDER BY l.lane
