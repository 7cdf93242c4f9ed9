-- The key $2 of the topic $1 is due now if it waits for a retry; its lane is locked. By primary key.
UPDATE outbox.blocked_key b
SET until = least(b.until, clock_timestamp())
WHERE b.topic = $1::text
  AND b.key = $2::text
  AND b.reason = 'retry'
RETURNING b.position
