//! Keys that wait and keys that are hot, with real relays: cases 7 and 45.

use std::{collections::BTreeSet, time::Duration};

use outbox::{
    RelayConfig, Report,
    publisher::PublishErrorKind::TooLarge,
    store::{AfterDeath, BlockReason, DeadFilter, DeadPage},
};
use outbox_testkit::{Reply, ScriptedPublisher};
use tokio::sync::watch;

use crate::{
    place::{Place, Store, TOPIC, lane, message, run_of},
    soak,
};

/// What goes wrong first.
const FIFTH: &str = "k/00005";

#[tokio::test(flavor = "multi_thread")]
async fn case_7_under_hold_nothing_behind_a_dead_message_goes_until_somebody_acts() {
    let place = Place::shared().await;
    let stores = place.stores().await;
    for store in &stores {
        let broker = broken_at_the_fifth();
        place.save(&run_of("k", 9)).await;
        place.save(&run_of("other", 9)).await;
        let report = drain(store, &broker, AfterDeath::Hold).await;
        assert_eq!((report.published, report.dead), (13, 1), "{}", store.name);
        assert_eq!(of_key(&broker, "k"), range(1..=4));

        // Neither another relay nor a new message changes that.
        place.save(&[message("k", "k/00010")]).await;
        for other in &stores {
            let report = drain(other, &broker, AfterDeath::Hold).await;
            assert_eq!(report, Report::default());
        }
        let status = store.people.status().await.unwrap();
        assert_eq!((status.pending(), status.held, status.dead), (5, 5, 1));
        let blocked = &status.blocked_keys[..];
        assert_eq!(blocked.len(), 1);
        assert_eq!(
            (&*blocked[0].topic, &*blocked[0].key, blocked[0].reason),
            (TOPIC, "k", BlockReason::Dead)
        );

        let stepped = store.people.redrive(&fifth()).await.unwrap();
        assert_eq!((stepped.count, stepped.out_of_order), (1, 0));
        let report = drain(store, &broker, AfterDeath::Hold).await;
        assert_eq!(report.published, 6);
        assert_eq!(of_key(&broker, "k"), range(1..=10), "{}", store.name);
    }
    place.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_7_under_skip_the_rest_goes_on_and_a_redrive_tells_that_it_is_late() {
    let place = Place::shared().await;
    for store in place.stores().await {
        let broker = broken_at_the_fifth();
        place.save(&run_of("k", 9)).await;
        let report = drain(&store, &broker, AfterDeath::Skip).await;
        assert_eq!((report.published, report.dead), (8, 1), "{}", store.name);
        let rest: Vec<String> = range(1..=4).into_iter().chain(range(6..=9)).collect();
        assert_eq!(of_key(&broker, "k"), rest);
        let status = store.people.status().await.unwrap();
        assert_eq!((status.blocked, status.dead), (0, 1));

        place.save(&[message("k", "k/00010")]).await;
        let stepped = store.people.redrive(&fifth()).await.unwrap();
        assert_eq!((stepped.count, stepped.out_of_order), (1, 1));
        drain(&store, &broker, AfterDeath::Skip).await;
        let late = ["k/00010", FIFTH].map(str::to_owned);
        let all: Vec<String> = rest.into_iter().chain(late).collect();
        assert_eq!(of_key(&broker, "k"), all, "{}", store.name);
    }
    place.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_45_a_neighbor_of_a_hot_key_waits_for_two_runs_at_most() {
    let place = Place::shared().await;
    let hot = if soak() { 20_000 } else { 2_000 };
    let neighbor = (0..10_000)
        .map(|number| format!("neighbor-{number}"))
        .find(|key| lane(key) == lane("hot"))
        .unwrap();
    place.save(&run_of("hot", hot)).await;
    place.save(&[message(&neighbor, "neighbor")]).await;

    let broker = ScriptedPublisher::new();
    broker.all(Reply::Late(Duration::from_millis(5)));
    let (stop, stopped) = watch::channel(false);
    let mut relays = Vec::new();
    for store in place.stores().await {
        let relay = store.relay(broker.clone(), RelayConfig::default());
        let mut stopped = stopped.clone();
        relays.push(tokio::spawn(relay.run(async move {
            stopped.wait_for(|stopped| *stopped).await.ok();
        })));
    }
    let mut came = 0;
    while broker.times("neighbor") == 0 {
        came += 1;
        broker.begun(came).await;
        assert!(came <= 1_000, "the neighbor is not served");
    }
    stop.send_replace(true);
    for relay in relays {
        let report = relay.await.unwrap().unwrap();
        assert_eq!((report.lost, report.left), (0, 0));
    }
    let handed = broker.handed();
    let before = handed
        .iter()
        .position(|handed| handed.id.as_str() == "neighbor");
    // Runs of a claim's hundred messages.
    assert!(
        before.unwrap() <= 200,
        "{before:?} came before the neighbor"
    );
    let confirmed = of_key(&broker, "hot");
    let expected: Vec<String> = run_of("hot", confirmed.len())
        .iter()
        .map(|message| message.id.to_string())
        .collect();
    assert_eq!(confirmed, expected);
    place.leave().await;
}

fn broken_at_the_fifth() -> ScriptedPublisher {
    let broker = ScriptedPublisher::new();
    broker.on(FIFTH, [Reply::Fail(TooLarge)]);
    broker
}

async fn drain(store: &Store, broker: &ScriptedPublisher, after_death: AfterDeath) -> Report {
    let config = RelayConfig {
        after_death,
        ..RelayConfig::default()
    };
    let relay = store.relay(broker.clone(), config);
    relay.drain().await.unwrap()
}

/// What was confirmed of a key, in order; nothing comes twice.
fn of_key(broker: &ScriptedPublisher, key: &str) -> Vec<String> {
    let mut ids = broker.confirmed();
    ids.retain(|id| id.split('/').next() == Some(key));
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    ids
}

fn range(numbers: std::ops::RangeInclusive<usize>) -> Vec<String> {
    numbers.map(|number| format!("k/{number:05}")).collect()
}

fn fifth() -> DeadPage {
    let filter = DeadFilter {
        id: Some(FIFTH.parse().unwrap()),
        ..DeadFilter::default()
    };
    DeadPage {
        filter,
        after: None,
        upto: None,
        limit: 10,
    }
}
