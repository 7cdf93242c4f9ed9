-- How many messages published at least ?1 ms ago, and how many ids whose time is over, a purge would remove, up to ?2 of each. Served by outbox_published_at
-- and outbox_saved_id_expires.
SELECT
  (
    SELECT count(*)
    FROM (
      SELECT 1
      FROM outbox_published p
      WHERE p.published_at <= CAST(unixepoch('subsec') * 1000 AS INTEGER) - ?1
      LIMIT ?2
    )
  ) AS published,
  (
    SELECT count(*)
    FROM (
      SELECT 1
      FROM outbox_saved_id s
      WHERE s.expires_at <= CAST(unixepoch('subsec') * 1000 AS INTEGER)
      LIMIT ?2
    )
  ) AS ids
