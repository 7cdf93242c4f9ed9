-- A message is saved in the caller's own transaction, from any language or by hand:
--   SELECT outbox.save('orders', '{"order": 1}', key => 'order-1');
-- Functions here name everything by its schema, whatever the search_path, and run with the rights of their caller.

-- A new message id: a version 7 UUID, by the clock to a fraction of a millisecond, so that ids of one server grow.
CREATE FUNCTION outbox.new_id() RETURNS text
LANGUAGE sql VOLATILE PARALLEL SAFE
AS $$
  SELECT encode(
    substring(int8send(t.us / 1000) FROM 3)
      || int2send((28672 + t.us % 1000 * 4096 / 1000)::smallint)
      || substring(uuid_send(gen_random_uuid()) FROM 9),
    'hex'
  )::uuid::text
  FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS us) AS t
$$;

-- Locks ordering keys until the transaction ends: whoever saves one of them in commit order meanwhile waits. The locks are on 512
-- stripes of the keys, and are taken in order, so that two calls do not wait for each other in a circle; over 64 stripes one lock stands
-- for all of them: whoever takes stripes shares it. Returns how many stripes they are. The first part of each lock names the schema.
CREATE FUNCTION outbox.lock_order(topics text[], keys text[]) RETURNS integer
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  own CONSTANT integer := hashtext('outbox.lock_order');
  stripes CONSTANT integer[] := ARRAY(
    SELECT DISTINCT hashtext(u.topic || chr(31) || u.key) & 511
    FROM unnest(lock_order.topics, lock_order.keys) AS u (topic, key)
    WHERE u.key IS NOT NULL
    ORDER BY 1
  );
  wanted CONSTANT integer := cardinality(stripes);
BEGIN
  IF wanted > 64 THEN
    PERFORM pg_advisory_xact_lock(own, -1);
  ELSIF wanted > 0 THEN
    PERFORM pg_advisory_xact_lock_shared(own, -1);
    PERFORM pg_advisory_xact_lock(own, s.stripe)
    FROM unnest(stripes) AS s (stripe);
  END IF;
  RETURN wanted;
END
$$;

-- Refuses a part of a message that breaks a limit. NULL is no part and passes.
CREATE FUNCTION outbox.check_part(part text, value text, most integer) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
  IF octet_length(value) NOT BETWEEN 1 AND most THEN
    RAISE EXCEPTION '% has % bytes', part, octet_length(value)
    USING ERRCODE = '22023', HINT = format('It must have 1 to %s bytes.', most);
  END IF;
END
$$;

-- Headers as the tables keep them, in their order: a JSON array of [name, value] pairs, or NULL for none. Takes such an array, or an
-- object of texts. Refuses what breaks a limit.
CREATE FUNCTION outbox.check_headers(headers json) RETURNS json
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
  pairs json := CASE WHEN json_typeof(headers) <> 'null' THEN headers END;
  bytes bigint;
BEGIN
  IF json_typeof(headers) = 'object' THEN
    SELECT json_agg(json_build_array(e.key, e.value) ORDER BY e.n)
    INTO pairs
    FROM json_each(headers) WITH ORDINALITY AS e (key, value, n);
  END IF;
  IF NOT outbox.are_headers(pairs) THEN
    RAISE EXCEPTION 'headers are not pairs of a name and a value'
    USING ERRCODE = '22023', HINT = 'Give a JSON array of [name, value] pairs, or an object; all names and values are texts, no name is empty or has a control character.';
  END IF;
  IF EXISTS (SELECT FROM json_array_elements(pairs) AS p (pair) WHERE octet_length(p.pair ->> 0) > 255) THEN
    RAISE EXCEPTION 'a header name is too long'
    USING ERRCODE = '22023', HINT = 'It must have 1 to 255 bytes.';
  END IF;
  SELECT sum(octet_length(p.pair ->> 0) + octet_length(p.pair ->> 1))
  INTO bytes
  FROM json_array_elements(pairs) AS p (pair);
  IF bytes > 65536 THEN
    RAISE EXCEPTION 'headers have % bytes', bytes
    USING ERRCODE = '22023', HINT = 'All names and values together must have at most 65536 bytes.';
  END IF;
  RETURN CASE WHEN bytes > 0 THEN pairs END;
END
$$;

-- Saves a message and returns its position.
--   key              messages of one topic and key keep their order; without one a message is unordered
--   headers          a JSON array of [name, value] pairs, or an object of texts
--   id               what consumers know a message by; a new version 7 UUID if none is given
--   due              when it joins the line; at once if that is past
--   once             stores one message for one id within this time: a second one is not stored, and NULL is returned
--   in_commit_order  also takes a lock on the ordering key until the transaction ends, so that the order of positions is the order of
--                    commits among those who do this
--   wake_up          also notifies relays that listen, once for all saves of a transaction
CREATE FUNCTION outbox.save(
  topic text,
  payload bytea,
  key text DEFAULT NULL,
  headers json DEFAULT NULL,
  content_type text DEFAULT NULL,
  id text DEFAULT NULL,
  due timestamptz DEFAULT NULL,
  once interval DEFAULT NULL,
  in_commit_order boolean DEFAULT false,
  wake_up boolean DEFAULT false
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  in_lane smallint;
  pairs json;
  drawn bigint;
BEGIN
  IF topic IS NULL THEN
    RAISE EXCEPTION 'the topic is NULL'
    USING ERRCODE = '22023', HINT = 'Name the topic that the message is to be published to.';
  END IF;
  IF topic COLLATE "C" ~ '[\u0001-\u001f\u007f-\u009f]' THEN
    RAISE EXCEPTION 'topic contains a control character'
    USING ERRCODE = '22023', HINT = 'Line breaks and other control characters cannot be in it.';
  END IF;
  IF payload IS NULL THEN
    RAISE EXCEPTION 'the payload is NULL'
    USING ERRCODE = '22023', HINT = 'An empty payload is fine: ''''.';
  END IF;
  IF octet_length(payload) > 67108864 THEN
    RAISE EXCEPTION 'payload has % bytes', octet_length(payload)
    USING ERRCODE = '22023', HINT = 'It must have at most 67108864 bytes.';
  END IF;
  IF NOT isfinite(due) THEN
    RAISE EXCEPTION 'due is %', due
    USING ERRCODE = '22023', HINT = 'Give a time, or leave it out for a message that is due at once.';
  END IF;
  IF once <= interval '0' THEN
    RAISE EXCEPTION 'once is %', once
    USING ERRCODE = '22023', HINT = 'Give how long the id is to be remembered, such as interval ''7 days''.';
  END IF;
  IF once IS NOT NULL AND id IS NULL THEN
    RAISE EXCEPTION 'once is given without an id'
    USING ERRCODE = '22023', HINT = 'Give the id that tells one message from another.';
  END IF;
  PERFORM outbox.check_part('topic', topic, 255);
  PERFORM outbox.check_part('key', key, 1024);
  PERFORM outbox.check_part('content type', content_type, 255);
  PERFORM outbox.check_part('message id', id, 255);
  pairs := outbox.check_headers(headers);

  IF in_commit_order AND key IS NOT NULL THEN
    PERFORM outbox.lock_order(ARRAY[topic], ARRAY[key]);
  END IF;
  IF once IS NOT NULL THEN
    INSERT INTO outbox.saved_id AS s (id, expires_at)
    VALUES (save.id, clock_timestamp() + least(once, interval '1000 years'))
    ON CONFLICT ON CONSTRAINT saved_id_pkey DO UPDATE
    SET expires_at = excluded.expires_at
    WHERE s.expires_at <= clock_timestamp();
    IF NOT FOUND THEN
      RETURN NULL;
    END IF;
  END IF;

  in_lane := CASE WHEN key IS NULL THEN floor(random() * 64) ELSE outbox.lane_of(topic, key) END;
  id := coalesce(id, outbox.new_id());
  IF due > clock_timestamp() THEN
    INSERT INTO outbox.scheduled AS m (due_at, lane, id, topic, key, content_type, headers, payload)
    VALUES (due, in_lane, save.id, save.topic, save.key, save.content_type, pairs, save.payload)
    RETURNING m.position INTO drawn;
  ELSE
    INSERT INTO outbox.message AS m (lane, id, topic, key, content_type, headers, payload)
    VALUES (in_lane, save.id, save.topic, save.key, save.content_type, pairs, save.payload)
    RETURNING m.position INTO drawn;
  END IF;
  IF wake_up THEN
    PERFORM pg_notify('outbox', n.nspname::text)
    FROM pg_class AS c
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.oid = 'outbox.message'::regclass;
  END IF;
  RETURN drawn;
END
$$;

-- The same for a payload that is text: its bytes in UTF-8, backslashes included.
CREATE FUNCTION outbox.save(
  topic text,
  payload text,
  key text DEFAULT NULL,
  headers json DEFAULT NULL,
  content_type text DEFAULT NULL,
  id text DEFAULT NULL,
  due timestamptz DEFAULT NULL,
  once interval DEFAULT NULL,
  in_commit_order boolean DEFAULT false,
  wake_up boolean DEFAULT false
) RETURNS bigint
LANGUAGE sql VOLATILE
AS $$
  SELECT outbox.save($1, convert_to($2, 'UTF8'), $3, $4, $5, $6, $7, $8, $9, $10)
$$;

UPDATE outbox.schema_version SET version = 2;
