-- Grows the line of command ?1 and action ?2, by ?3 with filter ?4, by one step and by ?5. By its unique index.
INSERT INTO outbox_audit (command, action, who, filter, began_at, ended_at, steps, count)
VALUES (
  ?1,
  ?2,
  ?3,
  ?4,
  CAST(unixepoch('subsec') * 1000 AS INTEGER),
  CAST(unixepoch('subsec') * 1000 AS INTEGER),
  1,
  ?5
)
ON CONFLICT (command, action) DO UPDATE
SET ended_at = excluded.ended_at,
    steps = steps + 1,
    count = count + excluded.count
