-- Sets the messages at the positions $2 of the lanes $1 aside. The lanes are locked. Served by the primary key of message.
WITH gone AS (
  DELETE FROM outbox.message
  WHERE ctid = ANY (ARRAY(
    SELECT (SELECT m.ctid FROM outbox.message m WHERE m.lane = g.lane::smallint AND m.position = g.position)
    FROM unnest($1::bigint[], $2::bigint[]) AS g (lane, position)
  ))
  RETURNING lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, payload
)
INSERT INTO outbox.waiting (lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, payload)
SELECT lane, position, id, topic, key, headers, content_type, attempts, tries, error, saved_at, payload
FROM gone
