-- What a purge of messages published more than $1 ms ago would do: rows, up to $2 of each kind, and whole partitions; and whether there are more rows.
-- Served by the primary keys of the partitions and by saved_id_expires.
WITH
  cut AS MATERIALIZED (
    SELECT
      c.at,
      -- Partitions that would be dropped as a whole hold what is older than this.
      CASE
        WHEN (SELECT count(*) FROM outbox.old_partitions(c.at)) > 0 THEN date_trunc('day', c.at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
        ELSE '-infinity'
      END AS since
    FROM (SELECT now() - make_interval(secs => $1::bigint / 1000.0) AS at) AS c
  ),
  rows AS (
    SELECT count(*) AS published
    FROM (
      (
        SELECT
        FROM outbox.published p
        WHERE p.published_at <= (SELECT at FROM cut)
          AND p.published_at >= (SELECT since FROM cut)
        LIMIT $2::bigint
      )
      UNION ALL
      (
        SELECT
        FROM outbox.published_default p
        WHERE p.published_at < (SELECT since FROM cut)
        LIMIT $2::bigint
      )
      LIMIT $2::bigint
    ) AS p
  ),
  ids AS (
    SELECT count(*) AS ids
    FROM (
      SELECT
      FROM outbox.saved_id s
      WHERE s.expires_at <= now()
      LIMIT $2::bigint
    ) AS s
  )
SELECT
  r.published,
  i.ids,
  (SELECT count(*) FROM cut CROSS JOIN outbox.old_partitions(cut.at)),
  r.published >= $2::bigint OR i.ids >= $2::bigint
FROM rows r
CROSS JOIN ids i
