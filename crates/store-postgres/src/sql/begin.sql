-- A transaction of a relay or an operator. The settings end with it. They keep the plans what they are, whatever the statistics say, and plan each
-- statement once for a connection: planning a claim takes as long as running it. And they keep a transaction whose client is gone, or is frozen,
-- from holding its locks: while it runs a statement, while it waits for the next one, and while it sends rows that nobody reads (over TCP).
BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL statement_timeout = '30s';
SET LOCAL idle_in_transaction_session_timeout = '30s';
SET LOCAL tcp_user_timeout = '30s';
SET LOCAL plan_cache_mode = force_generic_plan;
SET LOCAL jit = off;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
