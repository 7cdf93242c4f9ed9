-- What operators did: a line for each command, which grows in the transaction of each step. Nothing deletes from it but people.
CREATE TABLE outbox_audit (
  number INTEGER PRIMARY KEY,
  command TEXT NOT NULL,
  action TEXT NOT NULL,
  who TEXT NOT NULL,
  filter TEXT NOT NULL,
  began_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL,
  steps INTEGER NOT NULL,
  count INTEGER NOT NULL,
  UNIQUE (command, action)
) STRICT;

UPDATE outbox_schema_version SET version = 5;
