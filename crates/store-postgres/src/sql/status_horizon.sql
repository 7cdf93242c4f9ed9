-- What holds the oldest transaction on the server back, so that no row deleted since is cleaned up: the one that holds back most transactions of those
-- that do so for longer than $1 ms. How long is not known of a replication slot, and of a session when the role may not see it: such a one counts when
-- it holds back $2 transactions. It reads what the server knows of sessions, no table.
SELECT
  h.holder,
  h.name,
  h.application,
  h.role,
  h.state,
  (extract(epoch FROM clock_timestamp() - h.since) * 1000)::bigint,
  h.held
FROM (
  SELECT
    'session' AS holder,
    a.pid::text AS name,
    nullif(a.application_name, '') AS application,
    a.usename::text AS role,
    a.state,
    a.xact_start AS since,
    -- A snapshot holds rows of its own database only; a session without one, such as a sender to a standby, holds all.
    greatest(
      age(a.backend_xid),
      CASE WHEN coalesce(a.datname = current_database(), true) THEN age(a.backend_xmin) END
    ) AS held
  FROM pg_catalog.pg_stat_activity a
  WHERE a.pid <> pg_backend_pid()
    AND a.backend_type IS DISTINCT FROM 'autovacuum worker'
  UNION ALL
  SELECT 'prepared transaction', p.gid, NULL, p.owner::text, NULL, p.prepared, age(p.transaction)
  FROM pg_catalog.pg_prepared_xacts p
  UNION ALL
  SELECT 'replication slot', s.slot_name::text, NULL, NULL, CASE WHEN s.active THEN 'active' ELSE 'inactive' END, NULL, age(s.xmin)
  FROM pg_catalog.pg_replication_slots s
) AS h
WHERE h.held IS NOT NULL
  AND CASE WHEN h.since IS NULL THEN h.held >= $2::bigint ELSE h.since < clock_timestamp() - make_interval(secs => $1::bigint / 1000.0) END
ORDER BY h.held DESC, h.since
LIMIT 1
