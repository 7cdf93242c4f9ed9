-- Published messages that are kept: their partitions come and go. Each change waits at most 200 ms for its locks, and so does who comes behind it; one
-- that does not get them is for the next time. A role that does not own the tables changes none: then all is in the default partition, row by row.

-- Adds the partitions of the next 30 days, as far as that is cheap: the server scans the default partition for each, and nobody can write to it meanwhile. So
-- a call has at most 64 MB scanned, and adds none while the default partition is larger: then what is published on days without a partition stays there,
-- and is removed row by row. The first call finds it small. None is added for a day which has begun: a settlement under way could have taken the default
-- partition for it, and would fail. Returns how many it added.
CREATE FUNCTION outbox.add_partitions() RETURNS integer
LANGUAGE plpgsql VOLATILE
SET lock_timeout = '200ms'
AS $$
DECLARE
  soon CONSTANT timestamp := now() AT TIME ZONE 'UTC' + interval '1 hour';
  most CONSTANT bigint := 67108864 / greatest(pg_relation_size('outbox.published_default'), 1);
  day date;
  name text;
  added integer := 0;
BEGIN
  IF NOT EXISTS (
    SELECT
    FROM pg_class AS c
    WHERE c.oid = 'outbox.published'::regclass
      AND pg_has_role(c.relowner, 'USAGE')
      AND has_schema_privilege(c.relnamespace, 'CREATE')
  ) THEN
    RETURN 0;
  END IF;
  FOR day IN SELECT soon::date + n FROM generate_series(1, 30) AS n LOOP
    EXIT WHEN added >= most;
    name := 'outbox.published_' || to_char(day, 'YYYYMMDD');
    CONTINUE WHEN to_regclass(name) IS NOT NULL;
    BEGIN
      EXECUTE 'CREATE TABLE ' || name || ' (LIKE outbox.published INCLUDING ALL)';
      -- Unlike CREATE TABLE .. PARTITION OF this lets settlements go on meanwhile.
      EXECUTE 'ALTER TABLE outbox.published ATTACH PARTITION ' || name
        || ' FOR VALUES FROM (' || quote_literal(to_char(day, 'YYYY-MM-DD') || ' 00:00:00+00')
        || ') TO (' || quote_literal(to_char(day + 1, 'YYYY-MM-DD') || ' 00:00:00+00') || ')';
      added := added + 1;
    EXCEPTION
      WHEN lock_not_available THEN
        -- Each further day would keep others waiting as long again.
        EXIT;
      WHEN OTHERS THEN
        RAISE WARNING 'outbox: the partition of published messages for % was not added: %', day, SQLERRM;
    END;
  END LOOP;
  RETURN added;
END
$$;

-- The days, as YYYYMMDD, whose partitions end before this time and can be dropped by this role, oldest first.
CREATE FUNCTION outbox.old_partitions(before timestamptz) RETURNS SETOF text
LANGUAGE sql STABLE
AS $$
  SELECT right(c.relname, 8)
  FROM pg_inherits AS i
  JOIN pg_class AS c ON c.oid = i.inhrelid
  JOIN pg_class AS p ON p.oid = i.inhparent
  WHERE i.inhparent = 'outbox.published'::regclass
    AND c.relname ~ '^published_[0-9]{8}$'
    AND right(c.relname, 8) < to_char(before AT TIME ZONE 'UTC', 'YYYYMMDD')
    AND pg_has_role(c.relowner, 'USAGE')
    AND pg_has_role(p.relowner, 'USAGE')
  ORDER BY c.relname
$$;

-- Drops the oldest of these partitions, so many at most, with all that is in them. Returns how many it dropped.
CREATE FUNCTION outbox.drop_partitions(before timestamptz, most integer) RETURNS integer
LANGUAGE plpgsql VOLATILE
SET lock_timeout = '200ms'
AS $$
DECLARE
  day text;
  dropped integer := 0;
BEGIN
  FOR day IN SELECT d FROM outbox.old_partitions(before) AS d LIMIT most LOOP
    EXECUTE 'DROP TABLE outbox.published_' || day;
    dropped := dropped + 1;
  END LOOP;
  RETURN dropped;
EXCEPTION WHEN lock_not_available THEN
  -- All of this call are as they were.
  RETURN 0;
END
$$;

UPDATE outbox.schema_version SET version = 4;
