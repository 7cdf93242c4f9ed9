//! Connections that carry nothing any more.

use outbox_publisher::PublishErrorKind;
use outbox_publisher_rabbitmq::RabbitMqPublisher;
use outbox_test_servers::Proxy;

use crate::{
    broker::{self, Consumer, port_of, unique, with_port},
    publishing::{assert_error, confirm, fail, message},
};

/// Nobody has to wait for the relay's publish timeout: the broker's heartbeats are missed.
#[tokio::test(flavor = "multi_thread")]
async fn f3_a_connection_that_falls_silent_is_given_up_after_two_heartbeats_and_made_again() {
    let (server, queue) = (broker::url(), unique("silent"));
    Consumer::new(&server).declare(&queue).await;
    let proxy = Proxy::start(port_of(&server)).unwrap();
    let url = format!("{}?heartbeat=1", with_port(&server, proxy.port()));
    let publisher = RabbitMqPublisher::new(&url).unwrap();
    confirm(&publisher, &message(&queue, "a")).await;
    proxy.stall(true);
    let error = fail(&publisher, &message(&queue, "b")).await;
    assert_error(&error, PublishErrorKind::Unavailable, &["was lost"]);
    proxy.stall(false);
    confirm(&publisher, &message(&queue, "b")).await;
    assert_eq!(proxy.accepted(), 2);
}
