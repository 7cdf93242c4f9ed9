-- Drops at most $2 of the partitions that ended more than $1 ms ago, and answers how many; they are left for the next time if the locks are not free.
SELECT outbox.drop_partitions(now() - make_interval(secs => $1::bigint / 1000.0), $2::bigint::integer)
