-- A transaction that only reads, for people: all its statements see one moment, so that the numbers agree. It works on a standby too. The settings end
-- with it. It counts, so it may join by hashing, and it groups by hashing: to sort everything would take more time, and disk.
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL statement_timeout = '5min';
SET LOCAL idle_in_transaction_session_timeout = '30s';
SET LOCAL jit = off;
SET LOCAL max_parallel_workers_per_gather = 0;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
SET LOCAL enable_mergejoin = off;
SET LOCAL enable_sort = off;
