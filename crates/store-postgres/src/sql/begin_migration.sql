-- A transaction that changes the schema: it waits for another migration, and for whoever uses a table that it changes, but not for ever.
BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL statement_timeout = 0;
SET LOCAL lock_timeout = '60s';
SET LOCAL idle_in_transaction_session_timeout = '60s';
SELECT 1
