//! What stands on the server after a run.

use outbox_publisher::{PublishErrorKind, Publisher};
use outbox_publisher_redis::RedisPublisher;

use crate::{
    run::{fail_after, message, numbered, publish_all, unavailable},
    server::{list, plain, say},
};

#[tokio::test]
async fn o5_a_run_is_one_command_whatever_the_layout() {
    let server = plain(&[]);
    for layout in ["list", "laravel&jobs=unchecked", "stream"] {
        let url = format!("{}/?layout={layout}", server.url());
        let publisher = RedisPublisher::new(&url).unwrap();
        publish_all(&publisher, &numbered("warm", 1..=3)).await;
        say(&server, "CONFIG RESETSTAT").await;
        publish_all(&publisher, &numbered("orders", 1..=100)).await;
        let writes = say(&server, "INFO commandstats").await;
        let sent = |name: &str| {
            let line = format!("cmdstat_{name}:calls=");
            writes
                .lines()
                .find_map(|it| it.strip_prefix(&line).map(str::to_owned))
        };
        if layout == "list" {
            assert!(sent("rpush").unwrap().starts_with("1,"), "{writes}");
        } else {
            assert!(sent("evalsha").unwrap().starts_with("1,"), "{writes}");
        }
        say(&server, "FLUSHALL").await;
    }
}

#[tokio::test]
async fn two_entries_of_a_stream_are_added_one_after_the_other_without_a_script() {
    let server = plain(&[]);
    let publisher = RedisPublisher::new(&format!("{}/?layout=stream", server.url())).unwrap();
    publish_all(&publisher, &numbered("orders", 1..=2)).await;
    let writes = say(&server, "INFO commandstats").await;
    assert!(writes.contains("cmdstat_xadd:calls=2,"), "{writes}");
    assert!(!writes.contains("cmdstat_eval"), "{writes}");
}

#[tokio::test]
async fn laravel_finds_jobs_in_order_and_a_notification_for_each() {
    let server = plain(&[]);
    let parameters = "layout=laravel&prefix=p_&queue=shop:{topic}";
    let url = format!("{}/?{parameters}", server.url());
    let publisher = RedisPublisher::new(&url).unwrap();
    let jobs: Vec<_> = (0..3)
        .map(|n| {
            message(
                "orders",
                format!(r#"{{"job":"urn:a","n":{n},"attempts":0}}"#),
            )
        })
        .collect();
    publish_all(&publisher, &jobs).await;
    let found = list(&server, "p_queues:shop:orders").await;
    let sent: Vec<_> = jobs.iter().map(|job| job.payload.as_ref()).collect();
    assert_eq!(found.iter().map(String::as_bytes).collect::<Vec<_>>(), sent);
    assert_eq!(list(&server, "p_queues:shop:orders:notify").await, ["1"; 3]);
}

#[tokio::test]
async fn f5_what_a_worker_of_laravel_would_lose_is_malformed_and_the_run_before_it_arrives() {
    let server = plain(&[]);
    let publisher = RedisPublisher::new(&format!("{}/?layout=laravel", server.url())).unwrap();
    let job = || message("orders", r#"{"attempts":0}"#);
    let failure = fail_after(&publisher, &[job(), message("orders", "{}"), job()], 1).await;
    assert_eq!(failure.kind, PublishErrorKind::Malformed);
    assert!(failure.text.contains("no job of Laravel"), "{failure}");
    assert_eq!(list(&server, "queues:orders").await.len(), 1);
}

#[tokio::test]
async fn notifications_that_cannot_be_left_are_no_failure() {
    let server = plain(&[]);
    let publisher = RedisPublisher::new(&format!("{}/?layout=laravel", server.url())).unwrap();
    say(&server, "SET queues:orders:notify x").await;
    publish_all(&publisher, &[message("orders", r#"{"attempts":0}"#)]).await;
    assert_eq!(list(&server, "queues:orders").await.len(), 1);
}

#[tokio::test]
async fn o5_a_stream_that_refuses_an_entry_keeps_those_before_it() {
    let server = plain(&[]);
    let publisher = RedisPublisher::new(&format!("{}/?layout=stream", server.url())).unwrap();
    // Two ids are left after this one.
    let last = format!("{}-{}", u64::MAX, u64::MAX - 2);
    say(&server, &format!("XADD orders {last} first entry")).await;
    let failure = fail_after(&publisher, &numbered("orders", 1..=5), 2).await;
    assert!(failure.text.contains("last possible ID"), "{failure}");
    assert_eq!(say(&server, "XLEN orders").await, "3");
}

#[tokio::test]
async fn a_stream_is_trimmed_to_about_its_length_or_not_at_all() {
    let server = plain(&[("stream-node-max-entries", "10")]);
    for (max_len, alone, together) in [("30", 30..=40, 30..=40), ("0", 200..=200, 400..=400)] {
        let url = format!("{}/?layout=stream&max_len={max_len}", server.url());
        let publisher = RedisPublisher::new(&url).unwrap();
        say(&server, "DEL orders").await;
        let len = async || say(&server, "XLEN orders").await.parse::<u32>().unwrap();
        for one in numbered("orders", 1..=200) {
            publish_all(&publisher, &[one]).await;
        }
        assert!(alone.contains(&len().await), "{}", len().await);
        publish_all(&publisher, &numbered("orders", 1..=200)).await;
        assert!(together.contains(&len().await), "{}", len().await);
    }
}

#[tokio::test]
async fn a_script_that_the_server_forgot_is_sent_again() {
    let server = plain(&[]);
    let publisher = RedisPublisher::new(&format!("{}/?layout=stream", server.url())).unwrap();
    for round in 1..=3 {
        say(&server, "SCRIPT FLUSH").await;
        publish_all(&publisher, &numbered("orders", 1..=2)).await;
        publish_all(&publisher, &numbered("orders", 1..=2)).await;
        assert_eq!(say(&server, "XLEN orders").await, (round * 4).to_string());
    }
}

#[tokio::test]
async fn names_are_made_of_topic_and_key_and_an_empty_one_is_malformed() {
    let server = plain(&[]);
    let publisher = RedisPublisher::new(&format!("{}/?queue={{key}}", server.url())).unwrap();
    let keyed = message("orders", "a").with_key("{7}").unwrap();
    publish_all(&publisher, &[keyed]).await;
    assert_eq!(list(&server, "{7}").await, ["a"]);
    let failure = fail_after(&publisher, &[message("orders", "a")], 0).await;
    assert_eq!(failure.kind, PublishErrorKind::Malformed, "{failure}");
    assert!(failure.text.contains("queue="), "{failure}");
}

#[tokio::test]
async fn f3_a_key_that_holds_something_else_stops_its_topic_only() {
    let server = plain(&[]);
    for layout in ["list", "laravel&jobs=unchecked", "stream"] {
        say(&server, "FLUSHALL").await;
        say(&server, "SET orders x").await;
        say(&server, "SET queues:orders x").await;
        let url = format!("{}/?layout={layout}", server.url());
        let publisher = RedisPublisher::new(&url).unwrap();
        let topic = message("orders", "").topic;
        let shown = "orders\" on redis://127.0.0.1:";
        for count in [1, 3] {
            unavailable(&publisher, &numbered("orders", 1..=count), shown).await;
        }
        let checked = publisher.check(&topic).await.unwrap_err();
        assert_eq!(checked.kind, PublishErrorKind::Unavailable, "{checked}");
        assert!(checked.text.contains(shown), "{checked}");
        publish_all(&publisher, &numbered("payments", 1..=3)).await;
        let other = message("payments", "").topic;
        assert_ne!(publisher.destination(&topic), publisher.destination(&other));
        assert!(publisher.destination(&topic).ends_with("orders"));
        assert!(!publisher.has_one_destination());
        say(&server, "FLUSHALL").await;
        publish_all(&publisher, &numbered("orders", 1..=3)).await;
        publisher.check(&topic).await.unwrap();
    }
}
