-- Looks at the next ?4 rows of the line of lane ?1 behind position ?2: how far they go, and whether one of them is not of the ordering key of the
-- message at ?3, which ends the look. Served by outbox_message_lane and the primary key.
SELECT
  (
    SELECT max(position)
    FROM (
      SELECT m.position
      FROM outbox_message m
      WHERE m.lane = ?1
        AND m.position > ?2
      ORDER BY m.position
      LIMIT ?4
    )
  ) AS ahead,
  EXISTS (
    SELECT 1
    FROM (
      SELECT m.topic, m.key
      FROM outbox_message m
      WHERE m.lane = ?1
        AND m.position > ?2
      ORDER BY m.position
      LIMIT ?4
    ) AS behind
    WHERE NOT (
      behind.topic = (SELECT head.topic FROM outbox_message head WHERE head.position = ?3)
      AND behind.key IS (SELECT head.key FROM outbox_message head WHERE head.position = ?3)
    )
  ) AS other
