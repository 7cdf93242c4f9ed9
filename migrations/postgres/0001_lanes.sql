-- Needs PostgreSQL 13 or later and a database in UTF8. The name of the schema, `outbox` here, can be another one.

-- One row: the version that the tables have.
CREATE TABLE outbox.schema_version (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  version bigint NOT NULL
);

-- The order of saving. CACHE 1, so that no session keeps numbers back.
CREATE SEQUENCE outbox.position AS bigint CACHE 1;

-- Draws a position. The transaction has its number before it draws: lane.floor depends on it (docs/ordering.md).
CREATE FUNCTION outbox.next_position() RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL UNSAFE
AS $$ SELECT CASE WHEN pg_current_xact_id() IS NOT NULL THEN nextval('outbox.position') END $$;

-- The lane of an ordering key: the first byte of SHA-256(topic, 0x1F, key), all in UTF-8, modulo 64.
CREATE FUNCTION outbox.lane_of(topic text, key text) RETURNS smallint
LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT (get_byte(sha256(convert_to(topic || chr(31) || key, 'UTF8')), 0) & 63)::smallint $$;

-- Whether headers have the shape that relays read: a JSON array of [name, value] pairs of texts, no name empty or with a control character.
CREATE FUNCTION outbox.are_headers(headers json) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
  SELECT json_typeof(headers) = 'array'
    AND NOT jsonb_path_exists(
      headers::jsonb,
      'strict $[*] ? (
        @.type() != "array" || @.size() != 2 || @[0].type() != "string" || @[1].type() != "string"
        || @[0] == "" || @[0] like_regex "[\u0001-\u001f\u007f-\u009f]"
      )',
      '{}',
      true
    )
$$;

-- 64 hash buckets of ordering keys, the only mutex of relays; (epoch, holder) is the token of a lease. There is one row for each.
CREATE TABLE outbox.lane (
  lane smallint NOT NULL CHECK (lane BETWEEN 0 AND 63),
  epoch bigint NOT NULL DEFAULT 0,
  holder text,
  relay text,
  lease_until timestamptz NOT NULL DEFAULT '-infinity',
  -- Grows with each service: the lane served least recently comes first.
  turn bigint NOT NULL DEFAULT 0,
  -- How many messages must still complete one after another, since a holder vanished.
  careful bigint NOT NULL DEFAULT 0 CHECK (careful >= 0),
  -- All rows of the line up to this position were seen to be of the key that heads it.
  ahead bigint NOT NULL DEFAULT 0,
  -- Nothing stands in the line below this position, and nothing that commits late can.
  floor bigint NOT NULL DEFAULT 0,
  -- How floor gets on: a position, and a transaction number noted later; once all transactions before that one
  -- have ended, everything up to the position is decided.
  mark bigint,
  mark_xid xid8,
  -- A snapshot that somebody holds keeps every version of a row. Almost each has an epoch of its own, so the newest one is the last of its lane in
  -- this index, and is found without a look at the others.
  PRIMARY KEY (lane, epoch)
) WITH (
  fillfactor = 10,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 500,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_threshold = 1000000
);

INSERT INTO outbox.lane (lane)
SELECT generate_series(0, 63);

-- The ready line: runnable messages. A message without a key is in any lane. Headers are NULL if there are none; a name has at most 255 bytes,
-- and names and values together have at most 65536, which relays check.
CREATE TABLE outbox.message (
  position bigint NOT NULL DEFAULT outbox.next_position() CHECK (position > 0),
  attempts bigint NOT NULL DEFAULT 0 CHECK (attempts BETWEEN 0 AND 4294967295),
  tries bigint NOT NULL DEFAULT 0 CHECK (tries BETWEEN 0 AND 4294967295),
  saved_at timestamptz NOT NULL DEFAULT clock_timestamp() CHECK (isfinite(saved_at)),
  lane smallint NOT NULL CHECK (lane BETWEEN 0 AND 63),
  id text COLLATE "C" NOT NULL CHECK (octet_length(id) BETWEEN 1 AND 255),
  topic text COLLATE "C" NOT NULL CHECK (octet_length(topic) BETWEEN 1 AND 255 AND topic !~ '[\u0001-\u001f\u007f-\u009f]'),
  key text COLLATE "C" CHECK (octet_length(key) BETWEEN 1 AND 1024),
  content_type text COLLATE "C" CHECK (octet_length(content_type) BETWEEN 1 AND 255),
  headers json CHECK (octet_length(headers::text) <= 1048576 AND outbox.are_headers(headers)),
  error text,
  payload bytea NOT NULL CHECK (octet_length(payload) <= 67108864),
  PRIMARY KEY (lane, position),
  CONSTRAINT message_lane_of_key CHECK (key IS NULL OR lane = outbox.lane_of(topic, key))
) WITH (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_cost_delay = 0
);

-- Messages for later that were never tried, and retries of messages without a key.
CREATE TABLE outbox.scheduled (
  position bigint NOT NULL DEFAULT outbox.next_position() CHECK (position > 0),
  attempts bigint NOT NULL DEFAULT 0 CHECK (attempts BETWEEN 0 AND 4294967295),
  tries bigint NOT NULL DEFAULT 0 CHECK (tries BETWEEN 0 AND 4294967295),
  saved_at timestamptz NOT NULL DEFAULT clock_timestamp() CHECK (isfinite(saved_at)),
  due_at timestamptz NOT NULL CHECK (isfinite(due_at)),
  lane smallint NOT NULL CHECK (lane BETWEEN 0 AND 63),
  id text COLLATE "C" NOT NULL CHECK (octet_length(id) BETWEEN 1 AND 255),
  topic text COLLATE "C" NOT NULL CHECK (octet_length(topic) BETWEEN 1 AND 255 AND topic !~ '[\u0001-\u001f\u007f-\u009f]'),
  key text COLLATE "C" CHECK (octet_length(key) BETWEEN 1 AND 1024),
  content_type text COLLATE "C" CHECK (octet_length(content_type) BETWEEN 1 AND 255),
  headers json CHECK (octet_length(headers::text) <= 1048576 AND outbox.are_headers(headers)),
  error text,
  payload bytea NOT NULL CHECK (octet_length(payload) <= 67108864),
  PRIMARY KEY (lane, due_at, position),
  CONSTRAINT scheduled_lane_of_key CHECK (key IS NULL OR lane = outbox.lane_of(topic, key))
) WITH (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX scheduled_position ON outbox.scheduled (position);

-- The messages of keys whose head waits, head included. Rows come from message only.
CREATE TABLE outbox.waiting (
  position bigint NOT NULL,
  attempts bigint NOT NULL,
  tries bigint NOT NULL,
  saved_at timestamptz NOT NULL,
  lane smallint NOT NULL,
  id text COLLATE "C" NOT NULL,
  topic text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  content_type text COLLATE "C",
  headers json,
  error text,
  payload bytea NOT NULL,
  PRIMARY KEY (topic, key, position)
) WITH (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_cost_delay = 0
);

-- One row for each key whose head waits. A dead letter holds its key until infinity.
CREATE TABLE outbox.blocked_key (
  -- The position it waits for.
  position bigint NOT NULL,
  until timestamptz NOT NULL,
  lane smallint NOT NULL,
  topic text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  reason text NOT NULL CHECK (reason IN ('retry', 'dead', 'topic', 'busy')),
  PRIMARY KEY (topic, key)
) WITH (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX blocked_key_until ON outbox.blocked_key (lane, until);
CREATE INDEX blocked_key_position ON outbox.blocked_key (position);

-- Dead letters, as they were, readable or not.
CREATE TABLE outbox.dead (
  position bigint PRIMARY KEY,
  attempts bigint NOT NULL,
  tries bigint NOT NULL,
  saved_at timestamptz NOT NULL,
  died_at timestamptz NOT NULL,
  lane smallint NOT NULL,
  id text COLLATE "C" NOT NULL,
  topic text COLLATE "C" NOT NULL,
  key text COLLATE "C",
  content_type text COLLATE "C",
  headers json,
  reason text NOT NULL,
  error text,
  after text NOT NULL CHECK (after IN ('skip', 'hold')),
  payload bytea NOT NULL
);

CREATE INDEX dead_id ON outbox.dead (id);
CREATE INDEX dead_key ON outbox.dead (topic, key, position);

-- Published messages, if they are kept: a partition for each day in UTC. A day without one goes to the default
-- partition, so that a missing one is never an error.
CREATE TABLE outbox.published (
  position bigint NOT NULL,
  attempts bigint NOT NULL,
  tries bigint NOT NULL,
  saved_at timestamptz NOT NULL,
  published_at timestamptz NOT NULL,
  lane smallint NOT NULL,
  id text COLLATE "C" NOT NULL,
  topic text COLLATE "C" NOT NULL,
  key text COLLATE "C",
  content_type text COLLATE "C",
  headers json,
  error text,
  payload bytea NOT NULL,
  PRIMARY KEY (published_at, position)
) PARTITION BY RANGE (published_at);

CREATE TABLE outbox.published_default PARTITION OF outbox.published DEFAULT;

-- The ids of idempotent saves, as long as they are remembered.
CREATE TABLE outbox.saved_id (
  id text COLLATE "C" PRIMARY KEY CHECK (octet_length(id) BETWEEN 1 AND 255),
  expires_at timestamptz NOT NULL
);

CREATE INDEX saved_id_expires ON outbox.saved_id (expires_at);

-- Hand-overs in careful service whose end is not known.
CREATE TABLE outbox.start_mark (
  position bigint NOT NULL,
  lane smallint NOT NULL,
  holder text NOT NULL,
  id text,
  PRIMARY KEY (lane, position, holder)
);

-- Open circuits, written at each change, for people. Claims never read it.
CREATE TABLE outbox.destination_state (
  open_since timestamptz NOT NULL,
  next_probe timestamptz NOT NULL,
  destination text NOT NULL,
  relay text NOT NULL,
  error text NOT NULL,
  PRIMARY KEY (destination, relay)
);

-- One row: when upkeep was done last, so that of many relays one does it.
CREATE TABLE outbox.upkeep (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  done_at timestamptz NOT NULL
);

INSERT INTO outbox.upkeep (done_at) VALUES ('-infinity');

INSERT INTO outbox.schema_version (version) VALUES (1);
