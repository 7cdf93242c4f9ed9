-- What operators did: a line for each command, which grows in the transaction of each step. Nothing deletes from it but people.
CREATE TABLE outbox.audit (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  steps bigint NOT NULL,
  count bigint NOT NULL,
  began_at timestamptz NOT NULL,
  ended_at timestamptz NOT NULL,
  command text COLLATE "C" NOT NULL,
  action text COLLATE "C" NOT NULL,
  who text NOT NULL,
  filter text NOT NULL,
  UNIQUE (command, action)
);

UPDATE outbox.schema_version SET version = 7;
