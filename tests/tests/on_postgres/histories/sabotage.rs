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
    let told = caught(
        "INSERT ON outbox.blocked_key",
        "IF NEW.reason = 'retry' AND random() < 0.3 THEN RETURN NULL; END IF;",
    )
    .await;
    assert!(breaks_a_line(&told), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_whose_leases_end_too_early_is_caught() {
    let told = caught(
        "UPDATE ON outbox.lane",
        "IF NEW.lease_until > now() AND random() < 0.1 THEN NEW.lease_until := now(); END IF;",
    )
    .await;
    assert!(told.contains("O3: ") || told.contains(EARLY), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_loses_a_message_is_caught() {
    let told = caught(
        "INSERT ON outbox.waiting",
        "IF random() < 0.1 THEN RETURN NULL; END IF;",
    )
    .await;
    assert!(breaks_a_line(&told), "{told}");
}

/// Whether a message was lost, or overtaken by what is behind it: where rows of what waits are missing, chance says which is seen
/// first.
fn breaks_a_line(told: &str) -> bool {
    let signs = [" is lost", "O2: ", "O6: "];
    signs.iter().any(|sign| told.contains(sign))
}

/// What is said of a store that does this to a row before it is written.
async fn caught(when: &str, sabotage: &str) -> String {
    let shop = Arc::new(Shop::open().await);
    shop.schema
        .run(&format!(
            "CREATE FUNCTION outbox.sabotage() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {sabotage} RETURN NEW; END $$;
             CREATE TRIGGER sabotage BEFORE {when} FOR EACH ROW EXECUTE FUNCTION outbox.sabotage()"
        ))
        .await;
    let store = Sqlx::open(&shop.schema).await;
    for seed in 1..=PATIENCE {
        let (shop, store) = (Arc::clone(&shop), store.clone());
        let run = async move { history::<Sqlx, Sqlx>(seed, &shop, &store, &store).await };
        if let Err(panicked) = tokio::spawn(run).await {
            let told = panicked.into_panic().downcast::<String>();
            return *told.expect("it says what it found");
        }
    }
    panic!("{PATIENCE} histories went well");
}
