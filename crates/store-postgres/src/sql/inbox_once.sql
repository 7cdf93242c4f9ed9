-- Records that consumer $1 handles message $2. A row comes back the first time, none for a duplicate. Waits for another transaction that does the same or
-- forgets it, and then goes by what became of that. Served by inbox_pkey.
INSERT INTO outbox.inbox (consumer, message_id)
VALUES ($1::text, $2::text)
ON CONFLICT (consumer, message_id) DO NOTHING
RETURNING true
