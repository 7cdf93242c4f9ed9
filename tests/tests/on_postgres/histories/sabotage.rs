//! That the histories find what they are made to find: a store that breaks a rule now and then is caught.

use std::sync::Arc;

use super::{history, relay::EARLY};
use crate::{
    doors::{Relays, Sqlx},
    shop::Shop,
};

/// Far more histories than it takes.
const PATIENCE: u64 = 100;

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_forgets_that_a_key_waits_is_caught() {
    caught(
        "INSERT ON outbox.blocked_key",
        "IF NEW.reason = 'retry' AND random() < 0.3 THEN RETURN NULL; END IF;",
        &["O2: ", "O6: "],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_whose_leases_end_too_early_is_caught() {
    caught(
        "UPDATE ON outbox.lane",
        "IF NEW.lease_until > now() AND random() < 0.1 THEN NEW.lease_until := now(); END IF;",
        &["O3: ", EARLY],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_loses_a_message_is_caught() {
    caught(
        "INSERT ON outbox.waiting",
        "IF random() < 0.1 THEN RETURN NULL; END IF;",
        &[" is lost"],
    )
    .await;
}

/// Runs histories on a store that does this to a row before it is written, until one is accused of what these words say. Chance may
/// have it break another rule first; then the next history has an outbox of its own.
async fn caught(when: &str, sabotage: &str, words: &[&str]) {
    let mut said = Vec::new();
    let mut shop = sabotaged(when, sabotage).await;
    for seed in 1..=PATIENCE {
        let store = Sqlx::open(&shop.schema).await;
        let of_run = Arc::clone(&shop);
        let run = async move { history::<Sqlx, Sqlx>(seed, &of_run, &store, &store).await };
        let Err(panicked) = tokio::spawn(run).await else {
            continue;
        };
        let told = panicked.into_panic().downcast::<String>();
        let told = *told.expect("it says what it found");
        if words.iter().any(|word| told.contains(word)) {
            return;
        }
        said.push(told);
        shop = sabotaged(when, sabotage).await;
    }
    panic!("no history of {PATIENCE} was accused of {words:?}: {said:?}");
}

async fn sabotaged(when: &str, sabotage: &str) -> Arc<Shop> {
    let shop = Shop::open().await;
    shop.schema
        .run(&format!(
            "CREATE FUNCTION outbox.sabotage() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {sabotage} RETURN NEW; END $$;
             CREATE TRIGGER sabotage BEFORE {when} FOR EACH ROW EXECUTE FUNCTION outbox.sabotage()"
        ))
        .await;
    Arc::new(shop)
}
