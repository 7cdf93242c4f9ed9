-- Blocks the keys $3 of the topics $2 in the lanes $1, whose messages were just set aside, as busy and due at once; they wait for the positions $4. Nothing blocks them
-- yet. The lanes are locked.
INSERT INTO outbox.blocked_key (lane, topic, key, until, reason, position)
SELECT g.lane::smallint, g.topic, g.key, now(), 'busy', g.position
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) AS g (lane, topic, key, position)
