-- Records that consumer ?1 handles message ?2: one row, or none for a duplicate. By the primary key of outbox_inbox. From here on the transaction holds the
-- write lock, so nobody else can record or forget it meanwhile.
INSERT INTO outbox_inbox (consumer, message_id, handled_at)
VALUES (?1, ?2, CAST(unixepoch('subsec') * 1000 AS INTEGER))
ON CONFLICT (consumer, message_id) DO NOTHING
