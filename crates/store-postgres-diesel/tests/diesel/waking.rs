//! Waking relays by notifications.

use std::time::Duration;

use outbox_store::OutboxStore;
use outbox_store_postgres_diesel::WakeUp;
use tokio::time::timeout;

use crate::scratch::{Scratch, message, request};

async fn is_woken(scratch: &Scratch) {
    let woken = timeout(Duration::from_mins(1), scratch.store.wake_up());
    woken.await.unwrap();
}

#[tokio::test]
async fn a_relay_is_woken_when_it_begins_to_listen_and_by_each_save() {
    let scratch = Scratch::with(|config| config.wake_up = WakeUp::Notify).await;
    is_woken(&scratch).await;
    // Savers are told that somebody listens, and the relay looks once more for those who were not.
    scratch.store.claim(&request()).await.unwrap();
    is_woken(&scratch).await;
    for key in ["a", "b"] {
        scratch.save(&message(key)).await;
        is_woken(&scratch).await;
    }
}

#[tokio::test]
async fn a_relay_is_woken_after_its_connection_was_lost() {
    let scratch = Scratch::with(|config| config.wake_up = WakeUp::Notify).await;
    is_woken(&scratch).await;
    let ended = scratch
        .schema
        .count(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
             WHERE application_name = current_setting('application_name') AND query = 'LISTEN outbox'",
        )
        .await;
    assert_eq!(ended, 1);
    is_woken(&scratch).await;
}
