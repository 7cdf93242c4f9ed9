//! Connecting to a server that says nothing. It is a program of its own, as it looks at the threads of the whole program.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

#[path = "support/broker.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod broker;
#[path = "support/publishing.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod publishing;

use std::{fs, thread};

use futures_util::future::join_all;
use outbox_publisher::PublishErrorKind;
use outbox_publisher_rabbitmq::RabbitMqPublisher;
use outbox_test_servers::Proxy;
use tokio::runtime::Runtime;

use crate::{
    broker::{Consumer, port_of, unique, with_port},
    publishing::{assert_error, confirm, message, publish},
};

/// The names of the threads that run.
fn thread_names() -> impl Iterator<Item = String> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten();
    threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("comm")).ok())
}

/// All who need a connection wait for one attempt; given up, it leaves no thread behind that waits for ever.
#[test]
fn b4_an_attempt_to_connect_is_made_once_for_all_and_ends_when_it_is_given_up() {
    const ATTEMPTS: usize = 5;
    let runtime = Runtime::new().unwrap();
    let url = broker::url();
    let proxy = Proxy::start(port_of(&url)).unwrap();
    proxy.stall(true);
    let url = format!("{}?connect_timeout=1", with_port(&url, proxy.port()));
    let publisher = RabbitMqPublisher::new(&url).unwrap();
    for attempt in 1..=ATTEMPTS {
        runtime.block_on(async {
            let calls = (0..20).map(|_| {
                let message = message("t", "a");
                let publisher = publisher.clone();
                async move { publish(&publisher, &[message]).await.failure.unwrap() }
            });
            for error in join_all(calls).await {
                assert_error(&error, PublishErrorKind::Unavailable, &["did not answer"]);
            }
        });
        assert_eq!(proxy.accepted(), attempt);
    }
    let all_have_ended = || !thread_names().any(|name| name.starts_with("lapin-io"));
    while !all_have_ended() {
        thread::yield_now();
    }
    proxy.stall(false);
    let (url, queue) = (broker::url(), unique("stalled"));
    runtime.block_on(async {
        Consumer::new(&url).declare(&queue).await;
        confirm(&publisher, &message(&queue, "a")).await;
    });
}
