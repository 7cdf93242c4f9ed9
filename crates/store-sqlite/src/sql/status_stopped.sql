-- Topics that are stopped, for people.
SELECT topic, cause, stopped_at, until, destination, relay, error
FROM outbox_topic_state
ORDER BY topic
