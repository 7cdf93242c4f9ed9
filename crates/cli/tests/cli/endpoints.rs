//! From a shell to an HTTP endpoint, and to Kafka, which a program has if it was built with it.

use std::fs;

use outbox_test_servers::Kafka;

use self::receiver::Receiver;
use crate::{
    brokers::{all_in_order, save, unique},
    program::Place,
};

#[path = "../../../publisher-kafka/tests/support/reader.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod reader;
mod receiver;

#[test]
fn an_endpoint_gets_signed_webhooks_in_order_and_a_private_one_is_asked_for_by_name() {
    let receiver = Receiver::start();
    let place = Place::migrated();
    save(&place, "orders");
    let port = receiver.port();
    let hooks = format!("http://127.0.0.1:{port}/hooks/{{topic}}");
    let refused = place.run(&["relay", "--until-empty", "--to", &hooks], "");
    refused.expect(2).says(&["allow_private=true", "127.0.0.1"]);
    fs::write(
        place.path("secret"),
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    )
    .unwrap();
    let secret = place.path("secret").display().to_string();
    let to = format!("{hooks}#allow_private=true&secret_file={secret}");
    place
        .run(&["check", "--to", &to, "--topic", "orders"], "")
        .expect(0);
    let slow = ["relay", "--until-empty", "--lease=10s", "--to", &to];
    let refused = place.run(&slow, "").expect(2);
    refused.says(&["8s 500ms", "publish timeout (5s)", "timeout= of HTTP"]);
    place
        .run(&["relay", "--until-empty", "--to", &to], "")
        .expect(0);
    // What `check` sends publishes nothing.
    let mut requests = receiver.requests();
    requests.retain(|request| !request.head.starts_with("OPTIONS "));
    let bodies: Vec<_> = requests.iter().map(|it| it.body.clone()).collect();
    all_in_order(&bodies);
    for request in requests {
        assert!(request.head.starts_with("POST /hooks/orders HTTP/1.1\r\n"));
        let head = request.head.to_lowercase();
        assert!(head.contains("\r\nwebhook-id: orders"), "{head}");
        assert!(head.contains("\r\nwebhook-signature: v1,"), "{head}");
        assert!(!head.contains("secret"), "{head}");
    }
}

#[test]
fn kafka_gets_what_a_shell_saved_if_the_program_has_it() {
    let place = Place::migrated();
    let topic = unique("topic");
    save(&place, &topic);
    if cfg!(not(feature = "kafka")) {
        let relay = place.run(&["relay", "--until-empty", "--to", "kafka://localhost"], "");
        relay
            .expect(2)
            .says(&["built without Kafka", "--features kafka"]);
        return;
    }
    let kafka = Kafka::shared().unwrap();
    let to = kafka.url();
    let wrong = place.run(&["check", "--to", to, "--topic", &topic], "");
    let wrong = wrong.expect(6);
    assert!(wrong.stdout.contains(&topic), "{wrong:#?}");
    Kafka::create_topic_at(to, &topic, 1).unwrap();
    place
        .run(&["relay", "--until-empty", "--to", to], "")
        .expect(0);
    let (_, port) = to.rsplit_once(':').unwrap();
    let stored = reader::partition(port.parse().unwrap(), &topic, 0);
    let payloads: Vec<_> = stored.iter().map(reader::Stored::text).collect();
    all_in_order(&payloads);
}
