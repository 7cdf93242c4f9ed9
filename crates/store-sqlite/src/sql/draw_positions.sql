-- Draws ?1 positions in the caller's transaction, and says which of the ids ?2 = [id, ...] are remembered. By primary keys.
UPDATE outbox_position
SET last = last + ?1
WHERE one = 1
RETURNING
  last,
  CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now,
  (SELECT version FROM outbox_schema_version WHERE one = 1) AS version,
  (
    SELECT json_group_array(s.id)
    FROM json_each(?2) AS given
    CROSS JOIN outbox_saved_id s
    WHERE s.id = given.value
      AND s.expires_at > CAST(unixepoch('subsec') * 1000 AS INTEGER)
  ) AS remembered
