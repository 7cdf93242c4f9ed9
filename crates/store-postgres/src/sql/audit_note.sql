-- Grows the line of the command $1 and the action $2, by $3 with the filter $4, by one step and by $5. By its unique index: of two steps at once the second waits.
INSERT INTO outbox.audit AS a (command, action, who, filter, began_at, ended_at, steps, count)
VALUES ($1::text, $2::text, $3::text, $4::text, clock_timestamp(), clock_timestamp(), 1, $5::bigint)
ON CONFLICT (command, action) DO UPDATE
SET ended_at = excluded.ended_at,
    steps = a.steps + 1,
    count = a.count + excluded.count
