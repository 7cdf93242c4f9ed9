-- One message for later. Without a key it goes into any lane.
INSERT INTO outbox_scheduled (position, lane, id, topic, key, headers, content_type, saved_at, payload, due_at)
VALUES (?1, coalesce(?2, random() & 7), ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
