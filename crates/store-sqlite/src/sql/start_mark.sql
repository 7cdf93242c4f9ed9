-- Marks that the message at ?4 is about to be handed over, if the token (?1, ?2, ?3) holds. By primary keys.
INSERT INTO outbox_start_mark (lane, position, holder, id)
SELECT
  l.lane,
  ?4,
  l.holder,
  coalesce(
    (SELECT m.id FROM outbox_message m WHERE m.position = ?4),
    (SELECT w.id FROM outbox_waiting w WHERE w.position = ?4)
  )
FROM outbox_lane l
WHERE l.lane = ?1
  AND l.epoch = ?2
  AND l.holder = ?3
ON CONFLICT (lane, position, holder) DO UPDATE
SET id = excluded.id
