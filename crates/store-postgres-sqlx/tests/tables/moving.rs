//! The SQL of docs/upgrading-from-not-exists.md, run as it stands there but for the names of the schemas.

use std::{fs, path::Path};

use sqlx::{AssertSqlSafe, Executor};

use crate::scratch::{Scratch, message};

/// An outbox of the kind that the page speaks of: partitioned, with a status and retry columns.
const OLD: &str = "
    CREATE TABLE app.outbox_events (
      id bigint GENERATED ALWAYS AS IDENTITY,
      created_at timestamptz NOT NULL DEFAULT now(),
      topic text NOT NULL,
      partition_key text,
      payload jsonb NOT NULL,
      headers jsonb NOT NULL DEFAULT '{}',
      status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'sent', 'failed')),
      attempts integer NOT NULL DEFAULT 0,
      next_attempt_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (created_at, id)
    ) PARTITION BY RANGE (created_at);
    CREATE TABLE app.outbox_events_rest PARTITION OF app.outbox_events DEFAULT;
";

/// Rows of 25 keys: each eleventh was tried and waits, each thirteenth is for later and was never tried, each fiftieth is sent.
const BEGUN: &str = "
    INSERT INTO app.outbox_events (topic, partition_key, payload, headers, status, attempts, next_attempt_at)
    SELECT
      'orders',
      'order-' || n % 25,
      jsonb_build_object('n', n),
      '{\"number\": 7, \"text\": \"a\"}',
      CASE WHEN n % 50 = 0 THEN 'sent' ELSE 'pending' END,
      CASE WHEN n % 11 = 0 THEN 2 ELSE 0 END,
      now() + CASE WHEN n % 11 = 0 OR n % 13 = 0 THEN interval '1 hour' ELSE interval '0' END
    FROM generate_series(1, 2500) AS n
";

/// One more message of each key.
const MORE: &str = "
    INSERT INTO app.outbox_events (topic, partition_key, payload)
    SELECT 'orders', 'order-' || n, '{}'
    FROM generate_series(0, 24) AS n
    RETURNING id
";

/// The blocks of SQL on the page.
fn blocks() -> Vec<String> {
    let page =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/upgrading-from-not-exists.md");
    let page = fs::read_to_string(page).unwrap();
    let parts = page.split("\n```sql\n").skip(1);
    let block = |part: &str| part.split_once("\n```\n").unwrap().0.to_owned();
    parts.map(block).collect()
}

struct Moving(Scratch);

impl Moving {
    async fn new() -> Self {
        let moving = Self(Scratch::new().await);
        moving.run(OLD).await;
        moving
    }

    /// The old table stands in the schema of the test too.
    async fn run(&self, statements: &str) {
        self.0
            .schema
            .run(&statements.replace("app.", "outbox."))
            .await;
    }

    async fn count(&self, statement: &str) -> i64 {
        self.0
            .schema
            .count(&statement.replace("app.", "outbox."))
            .await
    }

    fn text(&self, statements: &str) -> String {
        self.0
            .schema
            .name
            .apply(&statements.replace("app.", "outbox."))
    }

    /// Messages that stand before one of their key which was written earlier.
    async fn out_of_order(&self) -> i64 {
        self.count(
            "SELECT count(*)
             FROM (SELECT id::bigint AS id, lag(id::bigint) OVER (PARTITION BY key ORDER BY position) AS before FROM outbox.pending) AS p
             WHERE p.before > p.id",
        )
        .await
    }
}

#[tokio::test]
async fn the_sql_of_the_page_moves_an_old_outbox_in_order_while_writers_go_on() {
    let moving = Moving::new().await;
    moving.run(BEGUN).await;
    let blocks = blocks();
    let [old_query, limits, moves, steps, trigger, switch] = &blocks[..] else {
        panic!("the page has other blocks than this test knows: {blocks:#?}");
    };
    moving.run(old_query).await;
    let beyond = format!(
        "SELECT count(*) FROM ({}) AS b",
        limits.trim_end_matches(';')
    );
    assert_eq!(moving.count(&beyond).await, 0);

    moving.run(moves).await;
    moving.run(steps).await;
    assert_eq!(
        moving.count("SELECT count(*) FROM outbox.pending").await,
        2_450
    );
    moving.run(MORE).await;
    moving.run(trigger).await;

    // A writer that has begun is waited for, and its message is moved.
    let mut late = moving.0.pool().begin().await.unwrap();
    let more = moving.text(MORE);
    late.execute(sqlx::raw_sql(AssertSqlSafe(more.clone())))
        .await
        .unwrap();
    // As long as it takes here.
    let switch = moving.text(&switch.replace("'2s'", "0"));
    let pool = moving.0.pool().clone();
    let switched = tokio::spawn(async move {
        let mut session = pool.acquire().await.unwrap();
        session.execute(sqlx::raw_sql(AssertSqlSafe(switch))).await
    });
    while moving.0.waiting_for_locks().await == 0 {}
    late.commit().await.unwrap();
    switched.await.unwrap().unwrap();

    // The same writers, saved by the trigger: with their transactions, and told their ids as before.
    let mut undone = moving.0.pool().begin().await.unwrap();
    undone
        .execute(sqlx::raw_sql(AssertSqlSafe(more.clone())))
        .await
        .unwrap();
    undone.rollback().await.unwrap();
    let told = sqlx::query(AssertSqlSafe(more)).fetch_all(moving.0.pool());
    assert_eq!(told.await.unwrap().len(), 25);

    assert_eq!(
        moving.count("SELECT count(*) FROM outbox.pending").await,
        2_525
    );
    assert_eq!(moving.out_of_order().await, 0);
    let unsent = "SELECT count(*) FROM app.outbox_events WHERE status <> 'sent'";
    assert_eq!(moving.count(unsent).await, 0);
    let later = moving.count("SELECT count(*) FROM outbox.scheduled").await;
    let untried = "SELECT count(*) FROM app.outbox_events WHERE attempts = 0 AND next_attempt_at > now() AND id % 50 <> 0";
    assert_eq!(later, moving.count(untried).await);
    let headers = r#"SELECT count(*) FROM outbox.pending WHERE headers::jsonb = '[["text", "a"], ["number", "7"]]'"#;
    assert_eq!(moving.count(headers).await, 2_450);

    // Whoever saves directly comes after all of them.
    let last = moving
        .count("SELECT max(position) FROM outbox.pending")
        .await;
    moving.0.save(&[message(Some("order-1"), "{}")]).await;
    assert!(
        moving
            .count("SELECT max(position) FROM outbox.pending")
            .await
            > last
    );
}
