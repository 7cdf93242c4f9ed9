-- Of several migrations of one schema one goes on, the others wait for its end.
SELECT pg_advisory_xact_lock(hashtextextended('outbox.schema_version', 0)) IS NULL
