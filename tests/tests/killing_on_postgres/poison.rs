//! Case 44: processes of relays that die, killed by a message or by somebody else. The processes are this program, started
//! again by its tests.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    env,
    future::pending,
    process::{Child, Command, Stdio},
    time::Duration,
};

use async_trait::async_trait;
use outbox::{
    RelayConfig,
    file::FilePublisher,
    message::Topic,
    publisher::{Published, Publisher, Run},
    store::{DeadFilter, DeadPage, DeadPayload, OutboxOperator},
};
use tempfile::TempDir;
use tokio::{task::block_in_place, time::sleep};

use crate::{
    place::{Place, keys_apart, message, run_of},
    witness::Witness,
};

/// Which part this program plays when a test has started it; else nobody does.
const PART: &str = "OUTBOX_KILLING_PART";
const SCHEMA: &str = "OUTBOX_KILLING_SCHEMA";
const FILE: &str = "OUTBOX_KILLING_FILE";

const POISON: &str = "poison";

#[tokio::test(flavor = "multi_thread")]
async fn case_44_a_message_that_kills_its_relay_is_found_among_eight_lanes_and_dies_alone() {
    if env::var_os(PART).is_some() {
        return play_poisoned().await;
    }
    let place = Place::shared().await;
    let keys = keys_apart("k", 8);
    let mut innocent = BTreeSet::new();
    for key in &keys {
        let mut messages = run_of(key, 5);
        innocent.extend(messages.iter().map(|message| message.id.to_string()));
        if key == &keys[3] {
            messages.insert(0, message(key, POISON));
        }
        place.save(&messages).await;
    }

    let folder = tempfile::tempdir().unwrap();
    let name =
        "poison::case_44_a_message_that_kills_its_relay_is_found_among_eight_lanes_and_dies_alone";
    let mut deaths = 0;
    loop {
        let mut relay = start(name, "poisoned", &place, &folder);
        if block_in_place(|| relay.wait()).unwrap().success() {
            break;
        }
        deaths += 1;
        assert!(deaths < 20, "the poison is not found");
        place.end_leases().await;
    }
    // Once among all eight lanes, and then alone, as often as the limit says.
    assert_eq!(deaths, 4);
    let page = DeadPage {
        filter: DeadFilter::default(),
        after: None,
        upto: None,
        limit: 100,
    };
    let dead = place.writer.dead_letters(&page, DeadPayload::Omit);
    let dead: Vec<(String, String)> = dead
        .await
        .unwrap()
        .into_iter()
        .map(|letter| (letter.id, letter.reason))
        .collect();
    assert_eq!(dead, [(POISON.to_owned(), "poison".to_owned())]);
    assert_eq!(place.pending().await, 0);
    let file = std::fs::read_to_string(folder.path().join("published.ndjson")).unwrap();
    let published: BTreeSet<String> = file
        .lines()
        .map(|line| {
            let (_, rest) = line.split_once(r#""id":""#).unwrap();
            rest.split('"').next().unwrap().to_owned()
        })
        .collect();
    assert_eq!(published, innocent);
    place.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_44_when_four_relays_are_killed_at_one_moment_nobody_dies() {
    if env::var_os(PART).is_some() {
        return play_hanging().await;
    }
    let place = Place::shared().await;
    let keys = keys_apart("k", 40);
    let mut all = BTreeSet::new();
    for key in &keys {
        let messages = run_of(key, 3);
        all.extend(messages.iter().map(|message| message.id.to_string()));
        place.save(&messages).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let name = "poison::case_44_when_four_relays_are_killed_at_one_moment_nobody_dies";
    // The second and third time they serve carefully, and each has one message in flight.
    for _ in 0..3 {
        let parts = ["hanging-0", "hanging-1", "hanging-2", "hanging-3"];
        let mut relays = parts.map(|part| start(name, part, &place, &folder));
        while holders(&place).await < 4 {
            sleep(Duration::from_millis(20)).await;
        }
        kill(&mut relays);
        place.end_leases().await;
    }

    let witness = Witness::default();
    let relay = place
        .sqlx()
        .await
        .relay(witness.clone(), RelayConfig::default());
    let report = relay.drain().await.unwrap();
    assert_eq!((report.published, report.dead), (120, 0));
    assert_eq!(witness.first().into_iter().collect::<BTreeSet<_>>(), all);
    let status = place.writer.status().await.unwrap();
    assert_eq!((status.pending(), status.dead), (0, 0));
    place.leave().await;
}

/// How many relays hold lanes.
async fn holders(place: &Place) -> usize {
    let lanes = place.writer.status().await.unwrap().lanes;
    let relays: BTreeSet<String> = lanes.into_iter().filter_map(|lane| lane.relay).collect();
    relays.len()
}

fn kill(relays: &mut [Child]) {
    for relay in &mut *relays {
        relay.kill().unwrap();
    }
    for relay in relays {
        relay.wait().unwrap();
    }
}

/// Starts this program as a relay: it runs the test of this name, which plays the part.
fn start(test: &str, part: &str, place: &Place, folder: &TempDir) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", test])
        .env(PART, part)
        .env(SCHEMA, place.schema.as_str())
        .env(FILE, folder.path().join("published.ndjson"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// A relay that dies of the poison, or ends when nothing is pending.
async fn play_poisoned() {
    let place = Place::of_parent(&env::var(SCHEMA).unwrap()).await;
    let publisher = Deadly(FilePublisher::open(env::var_os(FILE).unwrap()).unwrap());
    let relay = place.sqlx().await.relay(publisher, RelayConfig::default());
    let emptied = async {
        while place.pending().await > 0 {
            sleep(Duration::from_millis(20)).await;
        }
    };
    relay.run(emptied).await.unwrap();
}

/// A relay whose broker never answers.
async fn play_hanging() {
    let place = Place::of_parent(&env::var(SCHEMA).unwrap()).await;
    let config = RelayConfig {
        name: env::var(PART).unwrap().into(),
        // It takes no more than nine of the forty lanes, with what it claims ahead, and keeps them.
        concurrency: 8,
        max_lanes: 3,
        lease: Duration::from_hours(1),
        publish_timeout: Duration::from_mins(30),
        ..RelayConfig::default()
    };
    let relay = place.sqlx().await.relay(Hanging, config);
    relay.run(pending()).await.unwrap();
}

/// Ends the process when it meets the poison, as a library that aborts would.
#[derive(Debug)]
struct Deadly(FilePublisher);

#[async_trait]
impl Publisher for Deadly {
    fn destination<'a>(&'a self, topic: &'a Topic) -> Cow<'a, str> {
        self.0.destination(topic)
    }

    fn has_one_destination(&self) -> bool {
        self.0.has_one_destination()
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        let mut messages = run.messages.iter();
        if messages.any(|delivery| delivery.message.id.as_str() == POISON) {
            std::process::abort();
        }
        self.0.publish(run).await
    }
}

#[derive(Debug)]
struct Hanging;

#[async_trait]
impl Publisher for Hanging {
    fn destination<'a>(&'a self, _: &'a Topic) -> Cow<'a, str> {
        "hanging".into()
    }

    async fn publish(&self, _: Run<'_>) -> Published {
        pending().await
    }
}
