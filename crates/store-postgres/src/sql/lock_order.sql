-- Before a save, and in a statement of its own, so that the position is drawn under the locks: they are on the ordering keys ($1, $2) and end with the
-- transaction (contract O10).
SELECT outbox.lock_order($1::text[], $2::text[])
