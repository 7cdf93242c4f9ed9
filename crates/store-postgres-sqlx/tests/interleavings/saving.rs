//! Writers at once: idempotent saves of one id (C3), and saves in commit order (O10).

use outbox_message::Message;
use outbox_store::{Save, SaveError, SaveOrder, Saved};

use crate::scene::{Scene, message, secs};

const WRITER: &str = "-writer";

fn once(message: &Message) -> Save<'_> {
    Save {
        once: Some(secs(3_600)),
        ..Save::from(message)
    }
}

fn in_order(message: &Message) -> Save<'_> {
    Save {
        order: SaveOrder::Commit,
        ..Save::from(message)
    }
}

fn new(saved: Result<Saved, SaveError>) -> i64 {
    let position = saved.unwrap().position();
    position.expect("it is no duplicate").0
}

#[tokio::test]
async fn c3_a_second_save_of_an_id_waits_for_the_first_and_is_a_duplicate_of_it() {
    let s = Scene::new().await;
    let order = message(Some("k"), "1");
    let (mut first, second) = (s.begin().await, s.begin().await);
    new(s.store.save(&mut first, once(&order)).await);
    let saving = s.saving(second, order.clone(), once);
    s.until_it_waits(WRITER, &saving).await;
    first.commit().await.unwrap();
    let (mut second, saved) = saving.await.unwrap();
    assert!(matches!(saved, Ok(Saved::Duplicate)), "{saved:?}");
    // The transaction goes on.
    s.save_in(&mut second, "k", "2").await;
    second.commit().await.unwrap();
    assert_eq!(s.relay("a").drain().await, ["1", "2"]);
}

#[tokio::test]
async fn c3_a_second_save_of_an_id_is_stored_when_the_first_is_rolled_back() {
    let s = Scene::new().await;
    let order = message(Some("k"), "1");
    let (mut first, second) = (s.begin().await, s.begin().await);
    new(s.store.save(&mut first, once(&order)).await);
    let saving = s.saving(second, order.clone(), once);
    s.until_it_waits(WRITER, &saving).await;
    first.rollback().await.unwrap();
    let (second, saved) = saving.await.unwrap();
    new(saved);
    second.commit().await.unwrap();
    assert_eq!(s.relay("a").drain().await, ["1"]);
}

/// The ids of one call are taken in their order, whatever the order of the call.
#[tokio::test]
async fn c3_calls_with_the_same_ids_in_opposite_orders_do_not_wait_in_a_circle() {
    let s = Scene::new().await;
    let orders: Vec<Message> = (0..50).map(|n| message(None, &n.to_string())).collect();
    let save = |reverse: bool| {
        let (store, writers, mut orders) = (s.store.clone(), s.writers.clone(), orders.clone());
        if reverse {
            orders.reverse();
        }
        tokio::spawn(async move {
            let mut tx = writers.begin().await.unwrap();
            let all: Vec<_> = orders.iter().map(once).collect();
            let answers = store.save_all(&mut tx, &all).await.unwrap();
            tx.commit().await.unwrap();
            let stored = answers.iter().filter(|saved| **saved != Saved::Duplicate);
            stored.count()
        })
    };
    let calls: Vec<_> = (0..8).map(|n| save(n % 2 == 0)).collect();
    let mut stored = 0;
    for call in calls {
        stored += call.await.unwrap();
    }
    assert_eq!(stored, 50);
    assert_eq!(s.relay("a").drain().await.len(), 50);
}

#[tokio::test]
async fn o10_a_save_in_commit_order_draws_its_position_after_the_one_before_it_committed() {
    let s = Scene::new().await;
    let (mut first, second) = (s.begin().await, s.begin().await);
    let one = message(Some("k"), "1");
    new(s.store.save(&mut first, in_order(&one)).await);
    let saving = s.saving(second, message(Some("k"), "3"), in_order);
    s.until_it_waits(WRITER, &saving).await;
    // Who does not ask for it waits for nobody, and neither does another key.
    s.save("k", "beside").await;
    let two = message(Some("k"), "2");
    let last = new(s.store.save(&mut first, in_order(&two)).await);
    first.commit().await.unwrap();
    let (second, saved) = saving.await.unwrap();
    assert!(new(saved) > last);
    second.commit().await.unwrap();
    assert_eq!(s.relay("a").drain().await, ["1", "beside", "2", "3"]);
}

#[tokio::test]
async fn o10_a_save_in_commit_order_goes_on_when_the_one_before_it_is_rolled_back() {
    let s = Scene::new().await;
    let (mut first, second) = (s.begin().await, s.begin().await);
    let one = message(Some("k"), "1");
    new(s.store.save(&mut first, in_order(&one)).await);
    let saving = s.saving(second, message(Some("k"), "2"), in_order);
    s.until_it_waits(WRITER, &saving).await;
    first.rollback().await.unwrap();
    let (second, saved) = saving.await.unwrap();
    new(saved);
    second.commit().await.unwrap();
    assert_eq!(s.relay("a").drain().await, ["2"]);
}

#[tokio::test]
async fn o10_transactions_that_lock_two_keys_in_opposite_orders_end_in_one_conflict() {
    let s = Scene::new().await;
    let stripe = async |key: &str| {
        s.count(&format!(
            "SELECT (hashtext('orders' || chr(31) || '{key}') & 511)::bigint"
        ))
        .await
    };
    assert_ne!(stripe("a").await, stripe("b").await);
    let (mut first, mut second) = (s.begin().await, s.begin().await);
    let (one, two) = (message(Some("a"), "1"), message(Some("b"), "2"));
    new(s.store.save(&mut first, in_order(&one)).await);
    new(s.store.save(&mut second, in_order(&two)).await);
    let first = s.saving(first, message(Some("b"), "3"), in_order);
    s.until_it_waits(WRITER, &first).await;
    let second = s.saving(second, message(Some("a"), "4"), in_order);
    let mut conflicts = 0;
    for saving in [first, second] {
        match saving.await.unwrap() {
            (tx, Ok(Saved::New(_))) => tx.commit().await.unwrap(),
            (_, Err(SaveError::Conflict(_))) => conflicts += 1,
            (_, saved) => panic!("{saved:?}"),
        }
    }
    assert_eq!(conflicts, 1);
    assert_eq!(s.relay("a").drain().await.len(), 2);
}

/// One lock stands for all stripes of a call with many keys.
#[tokio::test]
async fn o10_a_save_of_many_keys_and_a_save_of_one_of_them_wait_for_each_other() {
    for many_first in [true, false] {
        let s = Scene::new().await;
        let many: Vec<Message> = (0..300)
            .map(|n| message(Some(&format!("key-{n}")), "many"))
            .collect();
        let one = message(Some("key-7"), "one");
        let (mut first, mut second) = (s.begin().await, s.begin().await);
        let (before, behind) = if many_first {
            (many, vec![one])
        } else {
            (vec![one], many)
        };
        let all: Vec<_> = before.iter().map(in_order).collect();
        s.store.save_all(&mut first, &all).await.unwrap();
        let last = s.count("SELECT last_value FROM outbox.position").await;
        let store = s.store.clone();
        let saving = tokio::spawn(async move {
            let all: Vec<_> = behind.iter().map(in_order).collect();
            let answers = store.save_all(&mut second, &all).await.unwrap();
            second.commit().await.unwrap();
            answers[0].position().unwrap().0
        });
        s.until_it_waits(WRITER, &saving).await;
        first.commit().await.unwrap();
        assert!(saving.await.unwrap() > last);
    }
}
