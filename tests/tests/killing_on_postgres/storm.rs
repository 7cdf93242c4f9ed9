//! The common course of attacks on the database: four relays, two through each adapter, publish what writers write, and
//! after the last blow everything that was committed must have come, in order, without a second holder of a key.

use std::{collections::HashMap, time::Duration};

use outbox::{Relay, RelayConfig, Report, relay::RelayError, store::OutboxOperator};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{interval, sleep},
};

use crate::{
    place::{Place, Store},
    witness::Witness,
    writers::{Writers, Written},
};

/// A lease that nobody knows of, because the answer to its claim was lost, is waited out, so leases are short.
pub(crate) const LEASE: Duration = Duration::from_secs(2);

/// When the next blow falls.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Every {
    /// After so many messages more have come.
    Messages(usize),
    /// At these intervals.
    Time(Duration),
}

/// Strikes so often, and judges what came of it.
pub(crate) async fn storm(place: &Place, blows: usize, every: Every, mut blow: impl AsyncFnMut()) {
    let witness = Witness::default();
    let mut relays = Relays::start(place, &witness).await;
    let writers = Writers::start(place, &witness, "k");
    let attack = async {
        match every {
            Every::Messages(more) => {
                for _ in 0..blows {
                    witness.has(witness.count() + more).await;
                    blow().await;
                }
            }
            Every::Time(period) => {
                let mut clock = interval(period);
                for _ in 0..blows {
                    clock.tick().await;
                    blow().await;
                }
            }
        }
        let written = writers.stop().await;
        witness.has(written.ids.len()).await;
        while place.pending().await > 0 {
            sleep(Duration::from_millis(20)).await;
        }
        written
    };
    let written = tokio::select! {
        written = attack => written,
        ended = relays.tasks.join_next() => panic!("a relay ended by itself: {ended:?}"),
    };
    let reports = relays.stop().await;

    judge(&witness, &written);
    let status = place.writer.status().await.unwrap();
    assert_eq!((status.pending(), status.dead), (0, 0));
    assert!(
        status.lanes.iter().all(|lane| lane.lease.is_zero()),
        "a lease is left: {:?}",
        status.lanes
    );
    let errors: u64 = reports.iter().map(|report| report.store_errors).sum();
    assert!(errors > 0, "no blow met a relay");
    eprintln!(
        "{blows} blows: {} messages, {} duplicates, 0 lost, {} transactions of writers and {errors} calls of relays tried again",
        written.ids.len(),
        witness.duplicates(),
        written.repeated,
    );
}

/// D1: everything came. O11: of each key in the order of saving. O3, D2: nobody published what another held.
fn judge(witness: &Witness, written: &Written) {
    assert_eq!(witness.faults(), [""; 0]);
    assert_eq!(by_key(&witness.first()), by_key(&written.ids));
}

/// The ids of each key, in their order.
pub(crate) fn by_key(ids: &[String]) -> HashMap<String, Vec<String>> {
    let mut keys: HashMap<String, Vec<String>> = HashMap::new();
    for id in ids {
        let (key, round) = id.split_once('/').unwrap();
        keys.entry(key.to_owned())
            .or_default()
            .push(round.to_owned());
    }
    keys
}

/// Four relays at work.
pub(crate) struct Relays {
    tasks: JoinSet<Result<Report, RelayError>>,
    stop: watch::Sender<bool>,
}

impl Relays {
    pub(crate) async fn start(place: &Place, witness: &Witness) -> Self {
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        for number in 0..2 {
            for store in place.stores().await {
                let mut stopped = stopped.clone();
                let relay = relay(&store, number, witness);
                tasks.spawn(relay.run(async move {
                    stopped.wait_for(|stopped| *stopped).await.ok();
                }));
            }
        }
        Self { tasks, stop }
    }

    /// Stops them; none has ended before.
    pub(crate) async fn stop(mut self) -> Vec<Report> {
        assert!(
            self.tasks.try_join_next().is_none(),
            "a relay ended by itself"
        );
        self.stop.send_replace(true);
        let mut reports = Vec::new();
        while let Some(ended) = self.tasks.join_next().await {
            reports.push(ended.unwrap().unwrap());
        }
        reports
    }
}

fn relay(store: &Store, number: usize, witness: &Witness) -> Relay {
    let config = RelayConfig {
        name: format!("{}-{number}", store.name).into(),
        batch: 20,
        lease: LEASE,
        renewal: LEASE / 3,
        publish_timeout: LEASE / 2,
        poll_min: Duration::from_millis(5),
        poll_max: Duration::from_millis(100),
        ..RelayConfig::default()
    };
    store.relay(witness.clone(), config)
}
