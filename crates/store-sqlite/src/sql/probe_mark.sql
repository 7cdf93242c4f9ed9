-- The message at ?2 of lane ?3 is let through of topic ?1. By primary key.
UPDATE outbox_topic_state
SET probe = ?2,
    probe_lane = ?3
WHERE topic = ?1
