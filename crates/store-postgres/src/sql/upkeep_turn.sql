-- Takes the turn to do upkeep, unless another relay is at it or did it less than a minute ago (give or take a timer's lateness). One row.
SELECT true
FROM outbox.upkeep u
WHERE u.one
  AND (u.done_at < now() - interval '50 seconds' OR u.done_at > now() + interval '1 minute')
FOR UPDATE SKIP LOCKED
