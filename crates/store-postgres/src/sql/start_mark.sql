-- Marks that the message at the position $4 is about to be handed over, if the token (lane $1, epoch $2, holder $3) holds: the lock gives the newest version of the
-- lane, and a claim that takes the lane over counts the mark, or this finds the token stale. The id is for people: of a message that was set aside
-- it is known only if its key waits for it. By the primary keys of lane, message, waiting and start_mark, and blocked_key_position.
WITH locked AS MATERIALIZED (
  SELECT l.lane, l.epoch, l.holder
  FROM outbox.lane l
  WHERE l.lane = $1::bigint::smallint
  ORDER BY l.lane DESC, l.epoch DESC
  LIMIT 1
  FOR UPDATE
)
INSERT INTO outbox.start_mark (lane, position, holder, id)
SELECT
  k.lane,
  $4::bigint,
  k.holder,
  coalesce(
    (SELECT m.id FROM outbox.message m WHERE m.lane = k.lane AND m.position = $4::bigint),
    (
      SELECT (
        SELECT w.id
        FROM outbox.waiting w
        WHERE w.topic = b.topic
          AND w.key = b.key
          AND w.position = b.position
      )
      FROM outbox.blocked_key b
      WHERE b.position = $4::bigint
        AND b.lane = k.lane
      LIMIT 1
    )
  )
FROM locked k
WHERE k.epoch = $2::bigint
  AND k.holder = $3::text
ON CONFLICT (lane, position, holder) DO UPDATE
SET id = excluded.id
RETURNING lane
