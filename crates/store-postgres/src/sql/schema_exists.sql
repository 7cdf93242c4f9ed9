-- Whether the schema is there, and whether it has the table of its version.
SELECT
  EXISTS (SELECT FROM pg_catalog.pg_namespace n WHERE n.nspname = (parse_ident('outbox.schema_version'))[1]),
  to_regclass('outbox.schema_version') IS NOT NULL
