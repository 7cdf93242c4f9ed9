//! Messages that are too long for the server, and runs that are too long for one command.

use outbox_message::{MAX_PAYLOAD_BYTES, Message};
use outbox_publisher::{PublishErrorKind, Publisher};
use outbox_publisher_redis::RedisPublisher;

use crate::{
    run::{fail_after, message, publish, publish_all, publish_until_it_works},
    server::{answer, list, plain, say},
};

const MIB: usize = 1024 * 1024;
const LAYOUTS: [&str; 3] = ["list", "laravel&jobs=unchecked", "stream"];

/// A short message, a long one and a short one again: the long one is too large, and nobody else suffers.
async fn only_the_long_one_is_too_large(publisher: &dyn Publisher, long: usize) {
    let run = with_a_long_one(long);
    let failure = fail_after(publisher, &run, 1).await;
    assert_eq!(failure.kind, PublishErrorKind::TooLarge, "{failure}");
    let failure = fail_after(publisher, &run[1..2], 0).await;
    assert_eq!(failure.kind, PublishErrorKind::TooLarge, "{failure}");
    publish_all(publisher, &run[2..]).await;
}

fn with_a_long_one(long: usize) -> [Message; 3] {
    [vec![b'a'], vec![b'x'; long], vec![b'b']].map(|payload| message("orders", payload))
}

/// Publishes as a relay does, which tries again after an outage. A server that closes a connection on which it has not read
/// everything may take its own words back with it, so what looks like an outage may come first.
async fn refused_as_too_large(publisher: &dyn Publisher, run: &[Message], confirmed: usize) {
    loop {
        let outcome = publish(publisher, run).await;
        let failure = outcome.failure.expect("the long message is refused");
        if failure.kind != PublishErrorKind::Unavailable {
            assert_eq!(failure.kind, PublishErrorKind::TooLarge, "{failure}");
            assert_eq!(outcome.confirmed, confirmed);
            return;
        }
    }
}

#[tokio::test]
async fn f5_what_the_server_says_it_does_not_take_is_not_sent() {
    for setting in ["proto-max-bulk-len", "client-query-buffer-limit"] {
        let server = plain(&[(setting, "1mb")]);
        for layout in LAYOUTS {
            let url = format!("{}/?layout={layout}", server.url());
            let publisher = RedisPublisher::new(&url).unwrap();
            only_the_long_one_is_too_large(&publisher, MIB + 1).await;
            say(&server, "FLUSHALL").await;
        }
    }
}

#[tokio::test]
async fn f5_what_closes_the_connection_is_found_out_one_by_one() {
    let server = plain(&[("proto-max-bulk-len", "1mb")]);
    // The publisher cannot ask.
    say(&server, "ACL SETUSER default -config").await;
    for layout in LAYOUTS {
        let url = format!("{}/?layout={layout}", server.url());
        let publisher = RedisPublisher::new(&url).unwrap();
        for long in [MIB + 1, 3 * MIB] {
            let run = with_a_long_one(long);
            refused_as_too_large(&publisher, &run, 1).await;
            refused_as_too_large(&publisher, &run[1..2], 0).await;
            publish_until_it_works(&publisher, &run[2..]).await;
        }
        say(&server, "FLUSHALL").await;
    }
}

#[tokio::test]
async fn f5_a_limit_of_the_url_holds_besides_the_servers() {
    let server = plain(&[]);
    let url = format!("{}/?max_bytes=10", server.url());
    only_the_long_one_is_too_large(&RedisPublisher::new(&url).unwrap(), 11).await;
}

#[tokio::test]
async fn case32_the_longest_payload_of_all_arrives_in_each_layout() {
    let server = plain(&[]);
    let payload: Vec<u8> = (0..=250_u8).cycle().take(MAX_PAYLOAD_BYTES).collect();
    for (layout, look) in [
        ("list", "LPOP orders"),
        ("laravel&jobs=unchecked", "LPOP queues:orders"),
        ("stream", "XRANGE orders - +"),
    ] {
        let url = format!("{}/?layout={layout}", server.url());
        let publisher = RedisPublisher::new(&url).unwrap();
        publish_all(&publisher, &[message("orders", payload.clone())]).await;
        let found = longest(answer(&server, look).await);
        assert!(found == payload, "{layout}: it came changed");
    }
}

/// The longest of the strings in an answer.
fn longest(answer: redis::Value) -> Vec<u8> {
    match answer {
        redis::Value::BulkString(bytes) => bytes,
        redis::Value::Array(values) => {
            let longest = values.into_iter().map(longest);
            longest.max_by_key(Vec::len).unwrap_or_default()
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn o5_a_long_run_goes_in_several_commands_and_in_order() {
    let server = plain(&[]);
    for (layout, key) in [
        ("list", "orders"),
        ("laravel&jobs=unchecked", "queues:orders"),
    ] {
        let url = format!("{}/?layout={layout}", server.url());
        let publisher = RedisPublisher::new(&url).unwrap();
        let bytes: Vec<_> = (0..40_u8)
            .map(|n| message("orders", vec![n; MIB]))
            .collect();
        publish_all(&publisher, &bytes).await;
        let many: Vec<_> = (0..2_500)
            .map(|n| message("orders", n.to_string()))
            .collect();
        publish_all(&publisher, &many).await;
        let found = list(&server, key).await;
        assert_eq!(found.len(), 2_540);
        for (n, element) in (0..).zip(&found[..40]) {
            assert!(element.len() == MIB && element.bytes().all(|byte| byte == n));
        }
        for (n, element) in found[40..].iter().enumerate() {
            assert_eq!(*element, n.to_string());
        }
        say(&server, "FLUSHALL").await;
    }
}

#[tokio::test]
async fn f3_a_limit_that_is_lowered_meanwhile_ends_with_the_message_too() {
    let server = plain(&[]);
    let publisher = RedisPublisher::new(&server.url()).unwrap();
    publish_all(&publisher, &[message("orders", vec![b'x'; 2 * MIB])]).await;
    say(&server, "CONFIG SET client-query-buffer-limit 1mb").await;
    let long = message("orders", vec![b'x'; 2 * MIB]);
    // The server closes the connection without a word; the next one asks again.
    let mut failure = fail_after(&publisher, std::slice::from_ref(&long), 0).await;
    while failure.kind == PublishErrorKind::Unavailable {
        failure = fail_after(&publisher, std::slice::from_ref(&long), 0).await;
    }
    assert_eq!(failure.kind, PublishErrorKind::TooLarge, "{failure}");
    publish_until_it_works(&publisher, &[message("orders", "a")]).await;
}
