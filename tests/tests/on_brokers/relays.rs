//! Relays at work, what is saved for them, and how their work is judged.

use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};

use outbox::{Message, Relay, RelayConfig, Report, relay::RelayError};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{sleep, timeout},
};

use crate::brokers::TOPIC;

/// Far more than anything here takes: what does not happen until then never will.
const NEVER: Duration = Duration::from_mins(10);

/// A relay at work.
pub(crate) struct Running {
    stop: watch::Sender<bool>,
    work: JoinHandle<Result<Report, RelayError>>,
}

impl Running {
    pub(crate) fn start(relay: Relay) -> Self {
        let (stop, mut stopped) = watch::channel(false);
        let work = tokio::spawn(relay.run(async move {
            stopped.wait_for(|stop| *stop).await.ok();
        }));
        Self { stop, work }
    }

    /// Tells it to stop and waits until it has.
    pub(crate) async fn stop(self) -> Report {
        self.stop.send(true).ok();
        self.work.await.unwrap().unwrap()
    }

    /// Ends it as a process that is killed does: nothing more is recorded, and its leases stay.
    pub(crate) async fn kill(self) {
        self.work.abort();
        self.work.await.unwrap_err();
    }
}

/// Settings under which an outage and a dead relay are over soon.
pub(crate) fn hasty(name: &str) -> RelayConfig {
    RelayConfig {
        name: name.into(),
        lease: Duration::from_secs(6),
        renewal: Duration::from_secs(2),
        publish_timeout: Duration::from_secs(3),
        transient_delay: Duration::from_millis(50),
        poll_min: Duration::from_millis(5),
        poll_max: Duration::from_millis(50),
        ..RelayConfig::default()
    }
}

/// So many messages for so many keys in turn, numbered in each key. What they say is their id too.
pub(crate) fn messages(count: usize, keys: usize) -> Vec<Message> {
    let message = |n: usize| {
        let (key, number) = (format!("key-{}", n % keys), n / keys);
        let id = format!("{key}/{number}");
        let message = Message::new(TOPIC, id.clone()).unwrap();
        message.with_id(id).unwrap().with_key(key).unwrap()
    };
    (0..count).map(message).collect()
}

/// D1, O11: everything that was saved arrived, of each key in the order of saving, not counting what came again. Says how many came again.
pub(crate) fn judge(saved: &[Message], received: &[String]) -> usize {
    let mut known = HashSet::new();
    let first = received.iter().filter(|id| known.insert(&***id));
    let saved = saved.iter().map(|message| message.id.as_str());
    let (first, saved) = (by_key(first.map(String::as_str)), by_key(saved));
    for (key, saved) in &saved {
        let none = Vec::new();
        let first = first.get(key).unwrap_or(&none);
        assert_eq!(first, saved, "what first came of {key}");
    }
    assert_eq!(first.len(), saved.len(), "nothing else came");
    received.len() - known.len()
}

fn by_key<'i>(ids: impl Iterator<Item = &'i str>) -> BTreeMap<&'i str, Vec<&'i str>> {
    let mut keys = BTreeMap::<_, Vec<_>>::new();
    for id in ids {
        let (key, number) = id.split_once('/').unwrap();
        keys.entry(key).or_default().push(number);
    }
    keys
}

/// Waits until something holds that will.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waited = timeout(NEVER, async {
        while !holds().await {
            sleep(Duration::from_millis(5)).await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("never: {what}"));
}

mod tests {
    use super::*;

    fn judged(received: &[&str]) -> Result<usize, Box<dyn std::any::Any + Send>> {
        let received: Vec<_> = received.iter().map(|id| (*id).to_owned()).collect();
        std::panic::catch_unwind(|| judge(&messages(4, 2), &received))
    }

    #[test]
    fn what_is_lost_late_or_foreign_is_found_and_what_comes_again_is_counted() {
        let all = ["key-0/0", "key-0/1", "key-1/0", "key-1/1"];
        assert_eq!(judged(&all).unwrap(), 0);
        let again = [all[0], all[1], all[0], all[2], all[3], all[1]];
        assert_eq!(judged(&again).unwrap(), 2);
        assert!(judged(&all[..3]).is_err(), "one is lost");
        assert!(judged(&[all[1], all[0], all[2], all[3]]).is_err(), "late");
        let foreign = [all[0], all[1], all[2], all[3], "key-9/0"];
        assert!(judged(&foreign).is_err(), "nobody saved it");
    }
}
