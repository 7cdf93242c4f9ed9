//! What a publisher finds out without publishing.

use outbox_message::Topic;
use outbox_publisher::Publisher;

use super::{assert_unavailable, config, publisher, receiver};
use outbox_publisher_http::{HttpConfig, HttpPublisher};

fn topic() -> Topic {
    Topic::new("orders").unwrap()
}

#[tokio::test]
async fn a_check_asks_what_the_place_takes_and_any_answer_but_a_no_is_a_yes() {
    let receiver = receiver().await;
    let publisher = publisher(&receiver, "");
    publisher.check(&topic()).await.unwrap();
    for status in [200, 400, 405, 500, 501] {
        receiver.answer(&format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n"));
        publisher.check(&topic()).await.unwrap();
    }
    for (status, word) in [
        (301, "redirects"),
        (401, "credentials"),
        (404, "nothing at this path"),
        (410, "gone"),
        (503, "503"),
    ] {
        receiver.answer(&format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n"));
        let failure = publisher.check(&topic()).await.unwrap_err();
        assert_unavailable(&failure, &[word, "/hooks"]);
    }
    let seen = receiver.seen();
    assert!(
        seen.iter()
            .all(|seen| seen.method == "OPTIONS" && seen.body.is_empty())
    );
    assert!(receiver.accepted().is_empty());
}

#[tokio::test]
async fn a_server_of_many_places_is_reached_at_its_root_and_checked_at_the_place_of_the_topic() {
    let receiver = receiver().await;
    let config = HttpConfig {
        url: format!("http://127.0.0.1:{}/in/{{topic}}/{{key}}", receiver.port()),
        ..config(&receiver, "")
    };
    let publisher = HttpPublisher::with_config(config).unwrap();
    receiver.answer("HTTP/1.1 404 x\r\ncontent-length: 0\r\n\r\n");
    publisher.reach().await.unwrap();
    // Without a key in its place the path need not be there.
    receiver.answer("HTTP/1.1 404 x\r\ncontent-length: 0\r\n\r\n");
    publisher.check(&topic()).await.unwrap();
    let targets: Vec<_> = receiver
        .seen()
        .into_iter()
        .map(|seen| seen.target)
        .collect();
    assert_eq!(targets, ["/", "/in/orders/"]);
}
