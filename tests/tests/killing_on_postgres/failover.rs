//! Case 34: a standby that misses the last commits is promoted while relays hold leases. What the lost server gave out binds
//! nobody on the new one, though positions and epochs come again there.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use outbox::{
    Message, RelayConfig,
    message::{Delivery, LaneToken, Position},
    store::{
        AfterDeath, Claim, ClaimRequest, DeathReason, Entry, LaneFilter, LaneSettlement,
        OutboxOperator, OutboxStore, Outcome, Settlement, Target,
    },
};
use outbox_test_servers::{Cluster, Options, Postgres};
use outbox_testkit::ScriptedPublisher;
use tokio::{sync::oneshot, task::block_in_place, time::sleep};

use crate::{
    place::{Place, Store, keys_apart, lane, run_of},
    proxy::Proxy,
};

/// A primary and its standby.
pub(crate) struct Pair {
    pub(crate) primary: Cluster,
    pub(crate) standby: Cluster,
}

impl Pair {
    /// With the tables of an outbox.
    pub(crate) async fn start() -> (Self, Place) {
        let start = || Postgres::find().unwrap().start(Options::default());
        let primary = block_in_place(start).unwrap();
        let place = Place::at(primary.url("postgres"), "outbox").await;
        let standby = block_in_place(|| Cluster::standby_of(&primary)).unwrap();
        (Self { primary, standby }, place)
    }

    /// From here on the standby misses what is committed.
    pub(crate) fn part(&mut self) {
        block_in_place(|| {
            self.standby.catch_up_with(&self.primary).unwrap();
            self.standby.stop_fast().unwrap();
        });
    }

    /// The primary is lost, and the standby takes its place. Returns the new port.
    pub(crate) fn fail_over(&mut self) -> u16 {
        block_in_place(|| {
            self.primary.stop_immediate().unwrap();
            self.standby.start().unwrap();
            self.standby.promote().unwrap();
        });
        self.standby.port()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_34_a_settlement_of_the_lost_server_changes_nothing_on_the_new_one() {
    let (mut pair, before) = Pair::start().await;
    let old = before.sqlx().await;
    before.save(&run_of("kept", 3)).await;
    let kept = claim(&old, "old", "kept").await;
    assert_eq!(ids(&kept).len(), 3);
    pair.part();
    // The standby never hears of these, nor that they were leased and published.
    before.save(&run_of("lost", 300)).await;
    let lost = claim(&old, "old", "lost").await;
    assert_eq!(ids(&lost).len(), 300);
    pair.fail_over();

    let after = before.moved(pair.standby.url("postgres")).await;
    let new: Vec<Message> = run_of("lost", 300)
        .into_iter()
        .map(|message| {
            let id = format!("new {}", message.id);
            message.with_id(id).unwrap()
        })
        .collect();
    after.save(&new).await;
    for store in after.stores().await {
        let theirs = claim(&store, "new", "lost").await;
        assert_eq!(ids(&theirs).len(), 300, "{}", store.name);
        let again: BTreeSet<Position> = positions(&lost)
            .intersection(&positions(&theirs))
            .copied()
            .collect();
        assert!(again.len() > 100, "the positions do not come again");
        let (stale, token) = (&lost.lanes[0].token, &theirs.lanes[0].token);
        assert_eq!(stale.lane, token.lane);
        assert_ne!(stale.holder, token.holder);

        let retry = Outcome::Retry {
            after: None,
            counted: true,
            error: "refused".to_owned(),
        };
        let dead = Outcome::Dead {
            reason: DeathReason::Permanent,
            error: "refused".to_owned(),
            after: AfterDeath::Hold,
            notice: None,
        };
        for outcome in [Outcome::Published, retry, dead, Outcome::Release] {
            let settled = store.relays.settle(&[settlement(&lost, &outcome)]).await;
            let settled = settled.unwrap();
            assert!(settled[0].lost, "{outcome:?}");
            let missed: BTreeSet<Position> = settled[0].missed.iter().copied().collect();
            assert_eq!(missed, positions(&lost), "{outcome:?}");
        }
        let status = after.writer.status().await.unwrap();
        assert_eq!((status.line, status.waiting, status.dead), (303, 0, 0));
        assert!(renewed(&store, token).await, "its lease was given back");
        assert!(!renewed(&store, stale).await);
        assert!(claim(&store, "third", "lost").await.entries.is_empty());

        // What the new relay has is untouched, each message as it was.
        let mut untouched = settlement(&theirs, &Outcome::Release);
        untouched.release = true;
        let settled = store.relays.settle(&[untouched]).await.unwrap();
        assert!(!settled[0].lost && settled[0].missed.is_empty());
        let theirs = claim(&store, "new", "lost").await;
        let counts = |delivery: &Delivery| delivery.attempts + delivery.tries + delivery.starts;
        assert!(deliveries(&theirs).all(|delivery| counts(delivery) == 0));
        let settled = [settlement(&theirs, &Outcome::Release)];
        store.relays.settle(&settled).await.unwrap();
    }

    // A lease that survived is as good as ever.
    let [sqlx, _] = after.stores().await;
    let published = [settlement(&kept, &Outcome::Published)];
    let settled = sqlx.relays.settle(&published).await.unwrap();
    assert!(!settled[0].lost && settled[0].missed.is_empty());
    assert_eq!(after.pending().await, 300);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_34_a_relay_that_finds_the_new_server_reports_what_it_lost_and_goes_on() {
    for adapter in 0..2 {
        fails_over_under_a_relay(adapter).await;
    }
}

async fn fails_over_under_a_relay(adapter: usize) {
    let (mut pair, direct) = Pair::start().await;
    let proxy = Proxy::to(pair.primary.port()).await;
    let address = direct.moved(proxy.url()).await;
    let store = address.stores().await[adapter].clone();
    let keys = keys_apart("k", 3);

    let broker = ScriptedPublisher::new();
    broker.hold_all();
    let config = RelayConfig {
        // No machine is so slow that these leases end meanwhile.
        lease: Duration::from_hours(1),
        publish_timeout: Duration::from_mins(30),
        renewal: Duration::from_mins(10),
        poll_min: Duration::from_millis(5),
        poll_max: Duration::from_millis(50),
        ..RelayConfig::default()
    };
    let relay = store.relay(broker.clone(), config);
    let (stop, stopped) = oneshot::channel::<()>();
    let relay = tokio::spawn(relay.run(async {
        stopped.await.ok();
    }));

    direct.save(&run_of(&keys[0], 1)).await;
    broker.begun(1).await;
    pair.part();
    direct.save(&run_of(&keys[1], 1)).await;
    broker.begun(2).await;
    proxy.turn(pair.fail_over());
    // Some in the lane that the relay believes to hold, and some in another.
    let after = direct.moved(pair.standby.url("postgres")).await;
    let new: Vec<Message> = [&keys[1], &keys[2]]
        .into_iter()
        .flat_map(|key| run_of(key, 2))
        .map(|message| {
            let id = format!("new {}", message.id);
            message.with_id(id).unwrap()
        })
        .collect();
    after.save(&new).await;
    broker.open();
    while after.pending().await > 0 {
        sleep(Duration::from_millis(20)).await;
    }
    stop.send(()).unwrap();
    let report = relay.await.unwrap().unwrap();

    let name = store.name;
    assert_eq!((report.published, report.lost), (5, 1), "{name}");
    assert_eq!((report.retried, report.dead), (0, 0), "{name}");
    let mut by_key: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for id in broker.received() {
        let (key, number) = id.rsplit_once('/').unwrap();
        by_key
            .entry(key.to_owned())
            .or_default()
            .push(number.to_owned());
    }
    let run = |count: usize| -> Vec<String> {
        (1..=count).map(|number| format!("{number:05}")).collect()
    };
    let expected = [
        (keys[0].clone(), run(1)),
        (keys[1].clone(), run(1)),
        (format!("new {}", keys[1]), run(2)),
        (format!("new {}", keys[2]), run(2)),
    ];
    assert_eq!(by_key, BTreeMap::from(expected), "{name}");
    let status = after.writer.status().await.unwrap();
    assert!(status.lanes.is_empty(), "{name}: {:?}", status.lanes);
}

/// A claim of the key's lane alone.
async fn claim(store: &Store, relay: &str, key: &str) -> Claim {
    let request = ClaimRequest {
        relay: Arc::from(relay),
        limit: 1_000,
        max_bytes: 16 << 20,
        max_lanes: 8,
        lease: Duration::from_hours(1),
        lanes: LaneFilter::Only(vec![lane(key)]),
        read_on: Vec::new(),
    };
    store.relays.claim(&request).await.unwrap()
}

fn deliveries(claim: &Claim) -> impl Iterator<Item = &Delivery> {
    claim.entries.iter().map(|entry| match entry {
        Entry::Message(delivery) => delivery,
        Entry::Unreadable(row) => panic!("a row cannot be read: {}", row.error),
    })
}

fn ids(claim: &Claim) -> Vec<String> {
    deliveries(claim)
        .map(|delivery| delivery.message.id.to_string())
        .collect()
}

fn positions(claim: &Claim) -> BTreeSet<Position> {
    deliveries(claim)
        .map(|delivery| delivery.position)
        .collect()
}

/// The same for all messages of a claim of one lane, which is given back.
fn settlement(claim: &Claim, outcome: &Outcome) -> LaneSettlement {
    LaneSettlement {
        token: claim.lanes[0].token.clone(),
        release: true,
        outcomes: deliveries(claim)
            .map(|delivery| Settlement {
                target: Target::from(delivery),
                outcome: outcome.clone(),
            })
            .collect(),
    }
}

/// Whether the lease holds, and with it the token.
async fn renewed(store: &Store, token: &LaneToken) -> bool {
    let lease = Duration::from_hours(1);
    let lost = store
        .relays
        .extend(std::slice::from_ref(token), lease)
        .await;
    lost.unwrap().is_empty()
}
