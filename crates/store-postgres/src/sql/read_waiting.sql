-- Reads the waiting messages of due keys without payloads: of each lane of $1 at most $4 keys, those that wait longest first, of each key a bounded run of $5,
-- or less if many are due, or $4 if it is the only one and the line has nothing, which $3 says. Nothing behind the frontier $2 of a lane: what stands in the line
-- behind it was not looked at, and a message of the same key among it would be overtaken. A due key of which nothing is to be read answers a row without
-- position. A holder that reads on leaves out what it has in hand, at the positions $6, and the keys $8 of the topics $7.
--
-- A key whose topic is stopped answers its first message, flagged, wherever the frontier is, for it is not to be handed out: unless it is the one that is let
-- through. Served by blocked_key_until and the primary keys of topic_state and waiting; the lanes are locked.
SELECT
  d.lane,
  d.topic,
  d.key,
  d.probe <> r.position,
  CASE WHEN r.position <= g.frontier OR d.probe <> r.position THEN r.position END,
  r.weight
FROM unnest($1::bigint[], $2::bigint[], $3::boolean[]) WITH ORDINALITY AS g (lane, frontier, idle, number)
CROSS JOIN LATERAL (
  SELECT
    b.*,
    count(*) OVER () AS keys
  FROM (
    SELECT
      b.lane,
      b.topic,
      b.key,
      b.until,
      -- No position is 0.
      (
        SELECT coalesce(t.probe, 0)
        FROM outbox.topic_state t
        WHERE t.topic = b.topic
          AND t.until > now()
      ) AS probe
    FROM outbox.blocked_key b
    WHERE b.lane = g.lane::smallint
      AND b.until <= now()
      AND ((b.topic, b.key) IN (SELECT c.topic, c.key FROM unnest($7::text[], $8::text[]) AS c (topic, key))) IS NOT TRUE
    ORDER BY b.lane, b.until
    LIMIT $4
  ) AS b
) AS d
LEFT JOIN LATERAL (
  SELECT
    w.position,
    octet_length(w.payload)
      + coalesce(octet_length(w.headers::text), 0)
      + octet_length(w.id)
      + octet_length(w.topic)
      + octet_length(w.key)
      + coalesce(octet_length(w.content_type), 0) AS weight
  FROM outbox.waiting w
  WHERE w.topic = d.topic
    AND w.key = d.key
    AND (w.position IN (SELECT h.position FROM unnest($6::bigint[]) AS h (position))) IS NOT TRUE
    AND w.position <= CASE WHEN d.probe IS NULL THEN g.frontier ELSE 9223372036854775807 END
  ORDER BY w.topic, w.key, w.position
  LIMIT CASE
    WHEN d.probe IS NOT NULL THEN 1
    WHEN g.idle AND d.keys = 1 THEN $4
    ELSE least($5, ($4 + d.keys - 1) / d.keys)
  END
) AS r ON true
ORDER BY g.number, r.position
