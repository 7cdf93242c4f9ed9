//! What holds of the tables at every moment, as any session sees them.

use crate::scene::Scene;

/// Each counts rows that must not be.
const FAULTS: [(&str, &str); 10] = [
    (
        "a message stands in two tables",
        "SELECT count(*) FROM (
           SELECT position FROM (
             SELECT position FROM outbox.message
             UNION ALL SELECT position FROM outbox.waiting
             UNION ALL SELECT position FROM outbox.scheduled
             UNION ALL SELECT position FROM outbox.dead
             UNION ALL SELECT position FROM outbox.published
           ) AS m
           GROUP BY position
           HAVING count(*) > 1
         ) AS twice",
    ),
    (
        "a message was set aside and nothing blocks its key",
        "SELECT count(*) FROM outbox.waiting w
         WHERE NOT EXISTS (
           SELECT FROM outbox.blocked_key b
           WHERE b.topic = w.topic AND b.key = w.key AND b.lane = w.lane
         )",
    ),
    (
        "a key is blocked for later and nothing waits behind",
        "SELECT count(*) FROM outbox.blocked_key b
         WHERE b.reason <> 'dead'
           AND b.until > now()
           AND NOT EXISTS (SELECT FROM outbox.waiting w WHERE w.topic = b.topic AND w.key = b.key)",
    ),
    (
        "a key is held for a dead letter that is not there",
        "SELECT count(*) FROM outbox.blocked_key b
         WHERE b.reason = 'dead'
           AND NOT EXISTS (SELECT FROM outbox.dead d WHERE d.position = b.position)",
    ),
    (
        "a key is in a wrong lane",
        "SELECT count(*) FROM (
           SELECT lane, topic, key FROM outbox.message
           UNION ALL SELECT lane, topic, key FROM outbox.waiting
           UNION ALL SELECT lane, topic, key FROM outbox.scheduled
           UNION ALL SELECT lane, topic, key FROM outbox.blocked_key
         ) AS k
         WHERE k.key IS NOT NULL AND k.lane <> outbox.lane_of(k.topic, k.key)",
    ),
    (
        "a stop set something aside and is forgotten",
        "SELECT count(*) FROM (
           SELECT topic FROM outbox.blocked_key WHERE reason = 'topic'
           UNION ALL SELECT topic FROM outbox.scheduled WHERE due_at = '200000-01-01 00:00:00+00'
         ) AS a
         WHERE NOT EXISTS (SELECT FROM outbox.topic_state t WHERE t.topic = a.topic)",
    ),
    (
        "a lane counts as freed that is not",
        "SELECT count(*) FROM (
           SELECT topic, lane FROM outbox.blocked_key WHERE reason = 'topic'
           UNION ALL SELECT topic, lane FROM outbox.scheduled WHERE due_at = '200000-01-01 00:00:00+00'
         ) AS a
         JOIN outbox.topic_state t ON t.topic = a.topic
         WHERE a.lane < t.freed",
    ),
    (
        "a message stands below the floor of its lane",
        "SELECT count(*) FROM outbox.message m
         JOIN outbox.lane l ON l.lane = m.lane
         WHERE m.position < l.floor",
    ),
    (
        "a lane without a holder is leased",
        "SELECT count(*) FROM outbox.lane WHERE holder IS NULL AND lease_until > '-infinity'",
    ),
    (
        "a position above all that were drawn",
        "SELECT count(*) FROM outbox.lane l, outbox.position p WHERE l.mark > p.last_value",
    ),
];

/// What is left when all is published and given back.
const LEFT: [(&str, &str); 4] = [
    (
        "a message is pending",
        "SELECT (SELECT count(*) FROM outbox.message)
              + (SELECT count(*) FROM outbox.waiting)
              + (SELECT count(*) FROM outbox.scheduled)",
    ),
    (
        "a key is blocked",
        "SELECT count(*) FROM outbox.blocked_key",
    ),
    (
        "a topic is stopped",
        "SELECT count(*) FROM outbox.topic_state",
    ),
    (
        "a lane is leased",
        "SELECT count(*) FROM outbox.lane WHERE holder IS NOT NULL",
    ),
];

impl Scene {
    /// Asserts what holds at every moment.
    pub(crate) async fn check(&self) {
        for (fault, count) in FAULTS {
            assert_eq!(self.count(count).await, 0, "{fault}");
        }
    }

    /// Asserts the same, and that nothing is left.
    pub(crate) async fn check_empty(&self) {
        self.check().await;
        for (rest, count) in LEFT {
            assert_eq!(self.count(count).await, 0, "{rest}");
        }
    }
}
