//! What order means while messages fail, wait and die, with several relays on one database. Time is moved, never waited for.

use std::time::Duration;

use outbox::{
    RelayConfig, Save,
    backoff::Backoff,
    message::{Lane, Lanes},
    publisher::PublishErrorKind::{Rejected, TooLarge, Unavailable},
    store::{
        Claim, ClaimRequest, Due, Entry, LaneFilter, LaneSettlement, OutboxStore, Outcome,
        Settlement, Target,
    },
};
use outbox_testkit::Reply;

use crate::shop::{Shop, message};

const MINUTE: Duration = Duration::from_mins(1);

/// The defaults of the contract under a name of its own.
fn named(name: &str) -> RelayConfig {
    RelayConfig {
        name: name.into(),
        ..RelayConfig::default()
    }
}

/// Failures are tried again at once.
fn without_backoff(name: &str) -> RelayConfig {
    RelayConfig {
        backoff: Backoff::exponential(Duration::ZERO, Duration::from_hours(1)).unwrap(),
        ..named(name)
    }
}

/// Three relays, one after another, each until nothing is ready.
async fn three_relays(shop: &Shop) {
    for name in ["one", "two", "three"] {
        shop.drain(named(name)).await;
    }
}

fn handed(shop: &Shop) -> Vec<String> {
    let handed = shop.broker.handed();
    handed.iter().map(|handed| handed.id.to_string()).collect()
}

async fn save_abc(shop: &Shop) {
    let messages = ["a", "b", "c"].map(|id| message("order-1", id));
    shop.save(&messages).await;
}

/// A key of the same lane as `key`.
fn neighbor_of(key: &str) -> String {
    let lane = lane_of(key);
    let mut others = (0..).map(|n| format!("neighbor-{n}"));
    others.find(|other| lane_of(other) == lane).unwrap()
}

fn lane_of(key: &str) -> Lane {
    let key = message(key, "x").ordering_key().unwrap();
    key.lane(Lanes::new(64).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn o6_a_transient_then_a_counted_failure_of_the_first_of_three_keep_the_other_two_back() {
    let shop = Shop::open().await;
    save_abc(&shop).await;
    shop.broker
        .on("a", [Reply::Fail(Unavailable), Reply::Fail(Rejected)]);
    three_relays(&shop).await;
    assert_eq!(handed(&shop), ["a"], "the transient failure waits");
    shop.schema.advance(MINUTE).await;
    three_relays(&shop).await;
    assert_eq!(handed(&shop), ["a", "a"], "the counted failure waits");
    shop.schema.advance(MINUTE).await;
    three_relays(&shop).await;
    assert_eq!(shop.broker.received(), ["a", "b", "c"]);
    let attempts: Vec<_> = shop.broker.handed().iter().map(|h| h.attempts).collect();
    assert_eq!(attempts, [0, 0, 1, 0, 0], "one of the two counted");
}

#[tokio::test(flavor = "multi_thread")]
async fn o6_nothing_of_a_key_goes_while_its_head_backs_off() {
    let shop = Shop::open().await;
    save_abc(&shop).await;
    shop.broker.on("a", [Reply::Fail(Rejected)]);
    three_relays(&shop).await;
    shop.save(&[message("order-1", "d")]).await;
    three_relays(&shop).await;
    assert_eq!(handed(&shop), ["a"]);
    let status = shop.status().await;
    assert_eq!((status.blocked, status.pending()), (1, 4));
    shop.schema.advance(MINUTE).await;
    three_relays(&shop).await;
    assert_eq!(shop.broker.received(), ["a", "b", "c", "d"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn o6_without_a_backoff_a_failing_head_is_tried_again_before_anything_behind_it() {
    let shop = Shop::open().await;
    save_abc(&shop).await;
    shop.broker.on("a", [Reply::Fail(Rejected); 3]);
    for name in ["one", "two", "three"] {
        let relay = shop.relay(without_backoff(name)).await;
        relay.flush().await.unwrap();
    }
    assert_eq!(handed(&shop), ["a"; 3], "each round tries the head");
    shop.drain(without_backoff("one")).await;
    assert_eq!(shop.broker.received(), ["a", "b", "c"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn o7_another_key_is_not_held_back_by_a_head_that_backs_off() {
    let shop = Shop::open().await;
    let neighbor = neighbor_of("order-1");
    let messages = [
        message("order-1", "a"),
        message(&neighbor, "n"),
        message("order-1", "b"),
        message("order-2", "x"),
        message(&neighbor, "o"),
    ];
    shop.save(&messages).await;
    shop.broker.on("a", [Reply::Fail(Rejected)]);
    three_relays(&shop).await;
    let mut received = shop.broker.received();
    received.sort();
    assert_eq!(received, ["n", "o", "x"], "in its own lane and elsewhere");
}

#[tokio::test(flavor = "multi_thread")]
async fn o8_a_delayed_message_that_was_never_tried_holds_nobody_back_and_takes_its_place_when_it_joins()
 {
    let shop = Shop::open().await;
    let later = message("order-1", "later");
    let later = Save {
        due: Some(Due::After(Duration::from_hours(1))),
        ..Save::from(&later)
    };
    let (b, c) = (message("order-1", "b"), message("order-1", "c"));
    shop.save([later, Save::from(&b)]).await;
    three_relays(&shop).await;
    assert_eq!(shop.broker.received(), ["b"], "it does not block");
    shop.save(&[c]).await;
    shop.schema.advance(Duration::from_hours(2)).await;
    three_relays(&shop).await;
    assert_eq!(
        shop.broker.received(),
        ["b", "later", "c"],
        "it was saved before c"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn o9_a_dead_letter_holds_nobody_back_under_skip() {
    let shop = Shop::open().await;
    save_abc(&shop).await;
    shop.broker.on("a", [Reply::Fail(TooLarge)]);
    three_relays(&shop).await;
    assert_eq!(shop.broker.received(), ["b", "c"]);
    let status = shop.status().await;
    assert_eq!((status.dead, status.blocked), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn o3_while_a_relay_holds_the_head_of_a_key_no_other_gets_a_message_of_it() {
    let shop = Shop::open().await;
    shop.broker.hold("a");
    save_abc(&shop).await;
    let holder = RelayConfig {
        publish_timeout: Duration::from_secs(19),
        ..named("holder")
    };
    let holder = shop.start(holder).await;
    shop.begun(1).await;
    // Another lane stays open to the others.
    let other = (0..).map(|n| format!("other-{n}"));
    let other = other
        .into_iter()
        .find(|key| lane_of(key) != lane_of("order-1"));
    shop.save(&[message("order-1", "d"), message(other.unwrap(), "x")])
        .await;
    three_relays(&shop).await;
    let mut seen = handed(&shop);
    seen.sort();
    assert_eq!(seen, ["a", "x"], "the rest of the key is its holder's");
    shop.broker.let_go("a");
    shop.begun(5).await;
    holder.stop().await;
    let mut received = shop.broker.received();
    received.retain(|id| id != "x");
    assert_eq!(received, ["a", "b", "c", "d"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn f2_six_busy_rounds_spend_one_attempt_and_the_next_try_is_at_least_five_seconds_away() {
    let shop = Shop::open().await;
    shop.save(&[message("order-1", "a")]).await;
    shop.broker.on("a", [Reply::Fail(Rejected); 6]);
    let before = shop.schema.now_ms().await;
    for round in 0..6 {
        let relay = shop.relay(named(&format!("relay-{}", round % 3))).await;
        relay.flush().await.unwrap();
    }
    assert_eq!(handed(&shop), ["a"]);
    let attempts = "SELECT attempts FROM outbox.waiting";
    assert_eq!(shop.schema.count(attempts).await, 1);
    let until = "SELECT (extract(epoch FROM until) * 1000)::bigint FROM outbox.blocked_key";
    let away = shop.schema.count(until).await - before;
    assert!(away >= 5_000, "{away} ms");
}

#[tokio::test(flavor = "multi_thread")]
async fn f2_with_base_zero_the_budget_is_spent_in_six_rounds() {
    let shop = Shop::open().await;
    save_abc(&shop).await;
    shop.broker.on("a", [Reply::Fail(Rejected); 6]);
    for round in 0..6 {
        assert_eq!(shop.status().await.dead, 0, "before round {round}");
        let config = without_backoff(&format!("relay-{}", round % 3));
        shop.relay(config).await.flush().await.unwrap();
    }
    let attempts = "SELECT attempts FROM outbox.dead";
    assert_eq!(shop.schema.count(attempts).await, 6);
    three_relays(&shop).await;
    assert_eq!(shop.broker.received(), ["b", "c"], "the key goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn f8_a_failure_without_a_time_keeps_a_message_due_and_in_its_place() {
    let shop = Shop::open().await;
    save_abc(&shop).await;
    let before = places(&shop).await;
    let claim = claim(&shop).await;
    let first = &claim.entries[..1];
    settle(&shop, &claim, first, true).await;
    assert_eq!(places(&shop).await, before);
    let again = self::claim(&shop).await;
    assert_eq!(ids_and_tries(&again), [("a", 1), ("b", 0), ("c", 0)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn f8_many_failures_without_a_time_recorded_together_keep_all_messages_due_and_in_place() {
    let shop = Shop::open().await;
    let keys: Vec<String> = (0..40).map(|n| format!("order-{n}")).collect();
    let messages: Vec<_> = keys.iter().map(|key| message(key, key)).collect();
    shop.save(&messages).await;
    let before = places(&shop).await;
    let first = claim(&shop).await;
    assert!(first.lanes.len() > 1, "several lanes are settled together");
    settle(&shop, &first, &first.entries, true).await;
    assert_eq!(places(&shop).await, before);
    let mut seen = 0;
    while seen < first.entries.len() {
        let again = claim(&shop).await;
        let tried = ids_and_tries(&again).iter().filter(|of| of.1 == 1).count();
        seen += tried;
        assert!(!again.entries.is_empty(), "all of them are due");
        settle(&shop, &again, &again.entries, false).await;
    }
}

/// Where the messages of the line stand.
async fn places(shop: &Shop) -> Vec<(i16, i64, String)> {
    let rows = sqlx::query_as(
        shop.schema
            .sql("SELECT lane, position, id FROM outbox.message ORDER BY position"),
    );
    rows.fetch_all(&shop.schema.pool).await.unwrap()
}

async fn claim(shop: &Shop) -> Claim {
    let request = ClaimRequest {
        relay: "by hand".into(),
        limit: 100,
        max_bytes: 1 << 20,
        max_lanes: 8,
        lease: MINUTE,
        lanes: LaneFilter::All,
        read_on: Vec::new(),
    };
    shop.store.claim(&request).await.unwrap()
}

/// Records a failure without a time, or the confirmation, of these; the rest is released.
async fn settle(shop: &Shop, claim: &Claim, of: &[Entry], failed: bool) {
    let outcome = |entry: &Entry| {
        let named = of.iter().any(|it| it.position() == entry.position());
        match (named, failed) {
            (false, _) => Outcome::Release,
            (true, false) => Outcome::Published,
            (true, true) => Outcome::Retry {
                after: None,
                counted: true,
                error: "refused".to_owned(),
            },
        }
    };
    let lanes: Vec<_> = claim
        .lanes
        .iter()
        .map(|lease| LaneSettlement {
            token: lease.token.clone(),
            outcomes: claim
                .entries
                .iter()
                .filter(|entry| entry.lane() == lease.token.lane)
                .map(|entry| Settlement {
                    target: target(entry),
                    outcome: outcome(entry),
                })
                .collect(),
            release: true,
        })
        .collect();
    for settled in shop.store.settle(&lanes).await.unwrap() {
        assert!(!settled.lost && settled.missed.is_empty(), "{settled:?}");
    }
}

fn target(entry: &Entry) -> Target {
    match entry {
        Entry::Message(delivery) => Target::from(delivery),
        Entry::Unreadable(row) => Target::from(row),
    }
}

fn ids_and_tries(claim: &Claim) -> Vec<(&str, u32)> {
    let deliveries = claim.entries.iter().map(|entry| match entry {
        Entry::Message(delivery) => (delivery.message.id.as_str(), delivery.tries),
        Entry::Unreadable(row) => panic!("{row:?}"),
    });
    deliveries.collect()
}
