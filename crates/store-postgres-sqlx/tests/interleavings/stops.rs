//! A topic that is stopped, and what relays and operators do with it, as calls that can be stopped at a point.

use std::{future::Future, sync::Arc};

use outbox_message::Topic;
use outbox_store::{DestinationStop, OutboxOperator, OutboxStore};
use tokio::{spawn, task::JoinHandle};

use crate::{
    relay::Relay,
    scene::{Scene, TOPIC, holder, keys_apart, keys_beside, secs},
};

/// Messages of three keys in two lanes and some without a key, of a topic that is stopped.
pub(crate) async fn stopped() -> Scene {
    let s = Scene::new().await;
    let beside = keys_beside("k", 1).remove(0);
    let far = keys_apart(64).pop().unwrap();
    let mut messages = Vec::new();
    for n in 1..=3 {
        messages.push((Some("k"), format!("k{n}")));
        messages.push((Some(beside.as_str()), format!("beside{n}")));
        messages.push((Some(far.as_str()), format!("far{n}")));
        messages.push((None, format!("free{n}")));
    }
    s.save_all(&messages).await;
    s.relay("stops").stopping(&[TOPIC]).await;
    s
}

/// All of these came, each key in its order.
fn assert_all(out: &[String], upto: usize) {
    for key in ["k", "beside", "far"] {
        let expected: Vec<String> = (1..=upto).map(|n| format!("{key}{n}")).collect();
        assert_eq!(of(out, key), expected, "{out:?}");
    }
    assert_eq!(of(out, "free").len(), 3);
    assert_eq!(out.len(), 3 * upto + 3);
}

/// Ends all, and looks that nothing is left.
pub(crate) async fn assert_over(s: &Scene, relay: &Relay, mut out: Vec<String>, upto: usize) {
    out.extend(relay.end_and_drain().await);
    assert_all(&out, upto);
    s.check_empty().await;
}

fn topics(names: &[&str]) -> Vec<Topic> {
    names
        .iter()
        .map(|name| Topic::new(*name).unwrap())
        .collect()
}

impl Relay {
    pub(crate) fn stopping(&self, names: &[&str]) -> impl Future<Output = ()> + Send + 'static {
        let (store, stop) = (
            Arc::clone(&self.store),
            DestinationStop {
                topics: topics(names),
                destination: "broker".to_owned(),
                relay: holder(&self.role),
                lease: secs(3_600),
                error: "refused".to_owned(),
            },
        );
        async move { store.stop_topics(&stop).await.unwrap() }
    }

    pub(crate) fn ending(&self, names: &[&str]) -> impl Future<Output = ()> + Send + 'static {
        let (store, topics) = (Arc::clone(&self.store), topics(names));
        async move { store.start_topics(&topics).await.unwrap() }
    }

    /// Frees until nothing is left; answers how much it was.
    pub(crate) fn freeing(&self) -> impl Future<Output = usize> + Send + 'static {
        let store = Arc::clone(&self.store);
        async move {
            let mut sum = 0;
            loop {
                match store.free_topics().await.unwrap() {
                    0 => return sum,
                    freed => sum += freed,
                }
            }
        }
    }

    pub(crate) fn probing(&self) -> impl Future<Output = bool> + Send + 'static {
        let (store, topics) = (Arc::clone(&self.store), topics(&[TOPIC]));
        async move { store.probe_topic(&topics[0]).await.unwrap() }
    }

    pub(crate) fn pausing(&self) -> impl Future<Output = ()> + Send + 'static {
        let (store, topics) = (Arc::clone(&self.store), topics(&[TOPIC]));
        async move { store.pause(&topics[0], None).await.unwrap() }
    }

    pub(crate) fn resuming(&self) -> impl Future<Output = bool> + Send + 'static {
        let (store, topics) = (Arc::clone(&self.store), topics(&[TOPIC]));
        async move { store.resume(&topics[0]).await.unwrap() }
    }

    /// Begins work in a task of its own, and waits until it ended or waits for a lock.
    pub(crate) async fn begin<T: Send + 'static>(
        &self,
        scene: &Scene,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        let task = spawn(work);
        scene.until_it_waits_or_ends(&self.role, &task).await;
        task
    }

    /// Claims until nothing is set aside any more; nothing comes of it.
    pub(crate) async fn set_aside(&self) {
        loop {
            let taken = self.claim().await;
            assert!(taken.is_empty(), "{:?}", taken.payloads());
            if taken.0.moved == 0 {
                return;
            }
        }
    }

    /// The stop is over: what it set aside goes out. Answers it in order.
    pub(crate) async fn end_and_drain(&self) -> Vec<String> {
        self.ending(&[TOPIC]).await;
        self.freeing().await;
        self.drain().await
    }
}

/// Those of the payloads that begin so.
fn of<'a>(payloads: &'a [String], begin: &str) -> Vec<&'a str> {
    let all = payloads.iter().map(String::as_str);
    all.filter(|payload| payload.starts_with(begin)).collect()
}
