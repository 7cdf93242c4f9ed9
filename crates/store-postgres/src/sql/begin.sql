-- A transaction of a relay or an operator. The settings end with it: they keep the plans what they are, whatever the statistics say and whichever plan
-- is cached, and keep a statement whose client is gone from running on.
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SET LOCAL statement_timeout = '30s';
SET LOCAL jit = off;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
