-- Until when savers need not notify relays, in ms since 1970: a relay that finds something all the time says so for a moment, and looks anyway. At first nobody
-- listens, and nobody needs to. A sequence, since it is one row that is written in place, at once for everybody, whatever becomes of the transaction: savers read no
-- old versions of it, and a snapshot that somebody holds keeps none.
CREATE SEQUENCE outbox.quiet START WITH 9223372036854775807;

-- Saves a message and returns its position.
--   key              messages of one topic and key keep their order; without one a message is unordered
--   headers          a JSON array of [name, value] pairs, or an object of texts
--   id               what consumers know a message by; a new version 7 UUID if none is given
--   due              when it joins the line; at once if that is past
--   once             stores one message for one id within this time: a second one is not stored, and NULL is returned
--   in_commit_order  also takes a lock on the ordering key until the transaction ends, so that the order of positions is the order of
--                    commits among those who do this
--   wake_up          also notifies relays that listen, once for all saves of a transaction, unless they look all the time anyway
CREATE OR REPLACE FUNCTION outbox.save(
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
  IF wake_up AND (SELECT q.last_value FROM outbox.quiet AS q) < (extract(epoch FROM clock_timestamp()) * 1000)::bigint THEN
    PERFORM pg_notify('outbox', n.nspname::text)
    FROM pg_class AS c
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.oid = 'outbox.message'::regclass;
  END IF;
  RETURN drawn;
END
$$;

UPDATE outbox.schema_version SET version = 8;
