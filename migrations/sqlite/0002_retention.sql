-- Published messages, if they are kept. Nothing about them is unique, so that keeping one never fails.
CREATE TABLE outbox_published (
  number INTEGER PRIMARY KEY,
  position INTEGER NOT NULL,
  lane INTEGER NOT NULL,
  id TEXT NOT NULL,
  topic TEXT NOT NULL,
  key TEXT,
  headers TEXT,
  content_type TEXT,
  attempts INTEGER NOT NULL,
  tries INTEGER NOT NULL,
  error TEXT,
  saved_at INTEGER NOT NULL,
  published_at INTEGER NOT NULL,
  payload BLOB NOT NULL
) STRICT;

CREATE INDEX outbox_published_at ON outbox_published (published_at);

UPDATE outbox_schema_version SET version = 2;
