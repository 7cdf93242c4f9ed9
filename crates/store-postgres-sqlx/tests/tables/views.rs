//! The views for people show what is there, readable or not.

use crate::scratch::Scratch;

/// A message of each kind.
async fn scene() -> Scratch {
    let scratch = Scratch::new().await;
    scratch
        .schema
        .run(
            "SELECT outbox.save('orders', 'first', key => 'free');
             SELECT outbox.save('orders', '\\x00ff'::bytea);
             SELECT outbox.save('orders', 'later', due => now() + interval '1 hour');
             SELECT outbox.save('orders', 'behind', key => 'held');
             SELECT outbox.save('bills', 'waits', key => 'waits');
             INSERT INTO outbox.waiting SELECT position, 2, 2, saved_at, lane, id, topic, key, content_type, headers, 'refused', payload FROM outbox.message WHERE key = 'waits';
             DELETE FROM outbox.message WHERE key = 'waits';
             INSERT INTO outbox.blocked_key VALUES (5, now() + interval '1 minute', outbox.lane_of('bills', 'waits'), 'bills', 'waits', 'retry');
             INSERT INTO outbox.dead VALUES (100, 6, 6, now(), now(), outbox.lane_of('orders', 'held'), 'd', 'orders', 'held', NULL, NULL, 'exhausted', 'no', 'hold', convert_to('ž', 'UTF8'));
             INSERT INTO outbox.dead VALUES (101, 1, 1, now(), now(), 0, 'e', 'orders', NULL, NULL, NULL, 'permanent', 'no', 'hold', '\\xff');
             INSERT INTO outbox.blocked_key VALUES (100, 'infinity', outbox.lane_of('orders', 'held'), 'orders', 'held', 'dead');
             INSERT INTO outbox.blocked_key VALUES (1, now(), outbox.lane_of('orders', 'free'), 'orders', 'free', 'busy')",
        )
        .await;
    scratch
}

/// What a view shows, a line for each row.
async fn shown(scratch: &Scratch, columns: &str, view: &str, order: &str) -> Vec<String> {
    let select = format!("SELECT ({columns})::text FROM {view} ORDER BY {order}");
    let rows = sqlx::query_scalar(scratch.schema.sql(&select));
    rows.fetch_all(&scratch.schema.pool).await.unwrap()
}

#[tokio::test]
async fn everything_pending_is_in_one_view_and_counted_by_topic() {
    let scratch = scene().await;
    let columns = "state, ready, blocked, payload_text, attempts";
    assert_eq!(
        shown(&scratch, columns, "outbox.pending", "position").await,
        [
            "(line,t,busy,first,0)",
            "(line,t,,,0)",
            "(scheduled,f,,later,0)",
            "(line,f,dead,behind,0)",
            "(waiting,f,retry,waits,2)",
        ]
    );
    let columns = "topic, pending, ready, held, later, dead";
    assert_eq!(
        shown(&scratch, columns, "outbox.backlog", "topic").await,
        ["(bills,1,0,0,1,0)", "(orders,4,2,1,1,2)"]
    );
}

#[tokio::test]
async fn blocked_keys_and_dead_letters_say_why() {
    let scratch = scene().await;
    let columns = "key, reason, next_try IS NULL, attempts, error, set_aside";
    assert_eq!(
        shown(&scratch, columns, "outbox.blocked", "key").await,
        ["(held,dead,t,6,no,0)", "(waits,retry,f,2,refused,1)"]
    );
    let columns = "id, reason, holds_key, payload_text";
    assert_eq!(
        shown(&scratch, columns, "outbox.dead_letters", "position").await,
        ["(d,exhausted,t,ž)", "(e,permanent,f,)"]
    );
}

/// A topic that is stopped has nothing ready, whether that was set aside already or not; and nothing of it counts as scheduled.
#[tokio::test]
async fn what_a_stop_set_aside_is_shown_as_stopped() {
    let scratch = scene().await;
    scratch
        .schema
        .run(
            "INSERT INTO outbox.topic_state (topic, cause, stopped_at, until, destination)
             VALUES ('orders', 'destination', now(), now() + interval '1 minute', 'broker');
             INSERT INTO outbox.topic_state (topic, cause, stopped_at, until) VALUES ('bills', 'paused', now(), '-infinity');
             UPDATE outbox.blocked_key SET reason = 'topic', until = 'infinity' WHERE key = 'waits';
             INSERT INTO outbox.scheduled SELECT position, 0, 0, saved_at, '200000-01-01 00:00:00+00', lane, id, topic, key, content_type, headers, NULL, payload
             FROM outbox.message WHERE position = 2;
             DELETE FROM outbox.message WHERE position = 2",
        )
        .await;
    let columns = "state, ready, isfinite(due_at), blocked, stopped, payload_text";
    assert_eq!(
        shown(&scratch, columns, "outbox.pending", "position").await,
        [
            "(line,f,t,busy,destination,first)",
            "(waiting,f,t,,destination,)",
            "(scheduled,f,t,,destination,later)",
            "(line,f,f,dead,destination,behind)",
            "(waiting,t,t,,,waits)",
        ]
    );
    let columns = "topic, pending, ready, held, later, dead, stopped";
    assert_eq!(
        shown(&scratch, columns, "outbox.backlog", "topic").await,
        ["(bills,1,1,0,0,0,)", "(orders,4,0,1,3,2,destination)"]
    );
    assert_eq!(
        shown(&scratch, "key, reason", "outbox.blocked", "key").await,
        ["(held,dead)"]
    );
    let columns = "topic, cause, over, until IS NULL, destination";
    assert_eq!(
        shown(&scratch, columns, "outbox.stopped", "topic").await,
        ["(bills,paused,t,t,)", "(orders,destination,f,f,broker)"]
    );
}
