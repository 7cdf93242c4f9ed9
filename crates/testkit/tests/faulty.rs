//! The faulty store fails what it is told to fail, and works like the store inside otherwise.

use std::{sync::Arc, time::Duration};

use outbox_message::{Lane, Message};
use outbox_store::{
    Claim, ClaimRequest, Entry, LaneFilter, LaneSettlement, OutboxStore, Outcome, Settlement,
    StoreError, Target,
};
use outbox_store_memory::MemoryStore;
use outbox_testkit::{Call, FaultyStore, saved};

fn request() -> ClaimRequest {
    ClaimRequest {
        relay: "relay".into(),
        limit: 10,
        max_bytes: 1_000_000,
        max_lanes: 1,
        lease: Duration::from_secs(30),
        lanes: LaneFilter::All,
        read_on: Vec::new(),
    }
}

async fn store_with_one_message() -> FaultyStore {
    let store = MemoryStore::manual();
    let message = Message::new("t", "a")
        .and_then(|message| message.with_key("k"))
        .expect("they are short");
    let mut tx = store.begin();
    store.save(&mut tx, &message).await.expect("it saves");
    tx.commit();
    FaultyStore::new(Arc::new(store))
}

fn published(claim: &Claim) -> Vec<LaneSettlement> {
    let Entry::Message(delivery) = &claim.entries[0] else {
        panic!("it can be read");
    };
    vec![LaneSettlement {
        token: claim.lanes[0].token.clone(),
        outcomes: vec![Settlement {
            target: Target::from(delivery),
            outcome: Outcome::Published,
        }],
        release: true,
    }]
}

#[tokio::test]
async fn calls_fail_as_often_as_told_and_are_counted() {
    let store = store_with_one_message().await;
    store.fail(Call::Claim, 2);
    for _ in 0..2 {
        let error = store.claim(&request()).await.unwrap_err();
        assert!(error.is_transient(), "{error}");
    }
    assert_eq!(store.claim(&request()).await.unwrap().entries.len(), 1);
    assert_eq!(store.calls(Call::Claim), 3);
    assert_eq!(store.claims().len(), 3);
}

#[tokio::test]
async fn a_lost_answer_comes_after_the_work() {
    let store = store_with_one_message().await;
    let claim = store.claim(&request()).await.unwrap();
    let lanes = published(&claim);
    store.lose_answer(Call::Settle, 1);
    assert!(matches!(
        store.settle(&lanes).await,
        Err(StoreError::Database { .. })
    ));
    let again = store.settle(&lanes).await.unwrap();
    assert!(again[0].lost, "the first one was done");
    assert_eq!(store.settlements().len(), 2);
}

#[tokio::test]
async fn a_lane_and_a_position_fail_until_healed() {
    let store = store_with_one_message().await;
    let claim = store.claim(&request()).await.unwrap();
    let lanes = published(&claim);
    let (lane, other) = (lanes[0].token.lane, Lane(lanes[0].token.lane.0 ^ 1));
    store.fail_lane(Call::Settle, other);
    store.fail_lane(Call::Extend, lane);
    store.fail_position(claim.entries[0].position());
    let tokens = [lanes[0].token.clone()];
    let lease = Duration::from_secs(1);
    assert!(store.extend(&tokens, lease).await.is_err());
    assert!(store.settle(&lanes).await.is_err());
    let empty = LaneSettlement {
        outcomes: vec![],
        release: false,
        ..lanes[0].clone()
    };
    assert!(store.settle(&[empty]).await.is_ok());
    let except = ClaimRequest {
        lanes: LaneFilter::Except(vec![lane]),
        ..request()
    };
    store.fail_lane(Call::Claim, lane);
    assert!(store.claim(&request()).await.is_err());
    assert!(store.claim(&except).await.is_ok());
    store.heal();
    assert!(!store.settle(&lanes).await.unwrap()[0].lost);
}

#[tokio::test]
async fn a_held_call_waits_until_it_is_let_go() {
    let store = store_with_one_message().await;
    store.hold(Call::Claim);
    let waiting = tokio::spawn({
        let store = store.clone();
        async move {
            store
                .claim(&request())
                .await
                .map(|claim| claim.entries.len())
        }
    });
    store.begun(Call::Claim, 1).await;
    assert!(!waiting.is_finished());
    store.open(Call::Claim);
    assert_eq!(waiting.await.unwrap().unwrap(), 1);
}

#[tokio::test]
async fn saved_lists_what_an_open_transaction_will_publish() {
    let store = MemoryStore::new();
    let message = Message::new("orders", "hello").unwrap();
    let mut tx = store.begin();
    store.save(&mut tx, &message).await.unwrap();
    assert_eq!(saved(&store, &mut tx).await.unwrap(), [message]);
    tx.rollback();
    assert!(saved(&store, &mut store.begin()).await.unwrap().is_empty());
}
