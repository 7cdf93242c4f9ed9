//! What the broker does not allow is an outage, with a text that says what to do.

use outbox_publisher::{PublishErrorKind, Publisher};
use outbox_publisher_rabbitmq::RabbitMqPublisher;
use tokio::{io::AsyncWriteExt, net::TcpListener};

use crate::{
    broker::{self, Consumer, port_of, unique},
    publishing::{assert_error, confirm, fail, message, topic},
};

/// A user of the shared server who may write to what the pattern names.
fn user(may_write: &str) -> (String, RabbitMqPublisher) {
    let server = broker::shared();
    let name = unique("user");
    server
        .rabbitmqctl(&["add_user", &name, "password"])
        .unwrap();
    let permissions = ["set_permissions", "-p", "/", &name, "^$", may_write, "^$"];
    server.rabbitmqctl(&permissions).unwrap();
    let port = port_of(&server.url());
    let url = format!("amqp://{name}:password@127.0.0.1:{port}/?exchange=amq.topic");
    (name, RabbitMqPublisher::new(&url).unwrap())
}

#[tokio::test]
async fn f3_a_missing_permission_to_write_is_unavailable_until_it_is_granted() {
    let (name, publisher) = user("^$");
    let queue = unique("permitted");
    let mut consumer = Consumer::new(&broker::url());
    consumer.declare(&queue).await;
    let channel = consumer.channel().await;
    let bound = channel.queue_bind(
        (&*queue).into(),
        "amq.topic".into(),
        (&*queue).into(),
        lapin::options::QueueBindOptions::default(),
        lapin::types::FieldTable::default(),
    );
    bound.await.unwrap();
    for _ in 0..2 {
        let error = fail(&publisher, &message(&queue, "a")).await;
        assert_error(
            &error,
            PublishErrorKind::Unavailable,
            &["amq.topic", "permission"],
        );
    }
    let grant = ["set_permissions", "-p", "/", &name, "^$", ".*", "^$"];
    broker::shared().rabbitmqctl(&grant).unwrap();
    confirm(&publisher, &message(&queue, "b")).await;
    assert_eq!(consumer.take_payloads(&queue).await, ["b"]);
}

#[tokio::test]
async fn f3_a_virtual_host_that_is_not_there_is_unavailable_and_named() {
    let url = broker::url();
    let publisher = RabbitMqPublisher::new(&format!("{url}/no-such-host")).unwrap();
    let error = fail(&publisher, &message("t", "a")).await;
    assert_error(
        &error,
        PublishErrorKind::Unavailable,
        &["no-such-host", "virtual host"],
    );
    let error = publisher.check(&topic("t")).await.unwrap_err();
    assert_error(&error, PublishErrorKind::Unavailable, &["no-such-host"]);
}

#[tokio::test]
async fn f3_a_user_who_may_not_use_the_virtual_host_is_named() {
    let name = unique("stranger");
    let add = ["add_user", &name, "password"];
    broker::shared().rabbitmqctl(&add).unwrap();
    let port = port_of(&broker::url());
    let url = format!("amqp://{name}:password@127.0.0.1:{port}");
    let publisher = RabbitMqPublisher::new(&url).unwrap();
    let error = fail(&publisher, &message("t", "a")).await;
    assert_error(&error, PublishErrorKind::Unavailable, &[&name]);
}

#[tokio::test]
async fn f3_the_wrong_scheme_and_an_unknown_authority_are_told_with_the_way_out() {
    let (plain, tls) = {
        let server = broker::shared();
        (server.port(), port_of(&server.tls_url().unwrap()))
    };
    for (url, shown) in [
        (format!("amqps://127.0.0.1:{plain}"), "speaks no TLS"),
        (format!("amqps://127.0.0.1:{tls}"), "with ca= in the URL"),
        (format!("amqp://127.0.0.1:{tls}"), "amqps://"),
    ] {
        let publisher = RabbitMqPublisher::new(&url).unwrap();
        let error = fail(&publisher, &message("t", "a")).await;
        assert_error(&error, PublishErrorKind::Unavailable, &[shown]);
    }
}

#[tokio::test]
async fn f3_another_kind_of_server_is_told_to_be_none_of_rabbitmq() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("amqp://{}", listener.local_addr().unwrap());
    let greets = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"INFO {}\r\n").await.unwrap();
        stream
    };
    let publisher = RabbitMqPublisher::new(&url).unwrap();
    let one = message("t", "a");
    let (error, _stream) = tokio::join!(fail(&publisher, &one), greets);
    assert_error(&error, PublishErrorKind::Unavailable, &["is no RabbitMQ"]);
    assert!(error.source.is_none(), "nobody understands it");
}
