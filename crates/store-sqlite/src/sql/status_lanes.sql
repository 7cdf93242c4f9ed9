-- Lanes that are leased, whose lease ran out on a holder, or that are served carefully, for people.
SELECT lane, relay, lease_until, careful
FROM outbox_lane
WHERE holder IS NOT NULL
  OR careful > 0
ORDER BY lane
