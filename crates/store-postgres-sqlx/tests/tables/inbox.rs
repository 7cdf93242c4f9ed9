//! The upkeep of the inbox. What an inbox is otherwise is in the suite that all stores share.

use std::time::Duration;

use outbox_store::OutboxStore;
use outbox_store_postgres_sqlx::PostgresConfig;

use crate::scratch::Scratch;

#[tokio::test]
async fn upkeep_goes_on_while_there_is_more_of_the_inbox() {
    let config = PostgresConfig {
        retain_inbox: Some(Duration::from_hours(24)),
        ..PostgresConfig::default()
    };
    let scratch = Scratch::with(config, 2, |options| options).await;
    scratch
        .schema
        .run(
            "INSERT INTO outbox.inbox (handled_at, consumer, message_id)
             SELECT now() - interval '2 days', 'billing', n::text FROM generate_series(1, 10500) AS n",
        )
        .await;
    assert_eq!(scratch.store.maintain().await.unwrap(), 10_000);
    assert_eq!(scratch.store.maintain().await.unwrap(), 500);
    assert_eq!(
        scratch.store.maintain().await.unwrap(),
        0,
        "it is done for a minute"
    );
}
