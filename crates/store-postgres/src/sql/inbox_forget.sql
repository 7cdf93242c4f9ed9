-- Forgets that consumer $1 handled message $2. A row comes back if it was recorded. Served by inbox_pkey.
DELETE FROM outbox.inbox
WHERE consumer = $1::text
  AND message_id = $2::text
RETURNING true
