-- Deletes single start marks ($1 lanes, $2 positions, $3 holders). The lanes are locked. By primary key.
DELETE FROM outbox.start_mark
WHERE ctid = ANY (ARRAY(
  SELECT (SELECT s.ctid FROM outbox.start_mark s WHERE s.lane = g.lane::smallint AND s.position = g.position AND s.holder = g.holder)
  FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS g (lane, position, holder)
))
