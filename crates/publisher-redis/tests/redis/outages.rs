//! A server that takes no writes for a while, each in its own way.

use outbox_publisher::{PublishErrorKind, Publisher};
use outbox_publisher_redis::RedisPublisher;
use outbox_test_servers::{Proxy, Redis};

use crate::{
    run::{fail_after, message, numbered, publish_all, publish_until_it_works, unavailable},
    server::{client, list, plain, say},
};

const LAYOUTS: [&str; 3] = ["list", "laravel&jobs=unchecked", "stream"];

fn publishers(server: &Redis) -> Vec<RedisPublisher> {
    let publisher = |layout| RedisPublisher::new(&format!("{}/?layout={layout}", server.url()));
    LAYOUTS.map(|layout| publisher(layout).unwrap()).into()
}

#[tokio::test]
async fn f3_a_full_memory_is_unavailable_until_there_is_room() {
    let server = plain(&[]);
    for publisher in publishers(&server) {
        publish_all(&publisher, &numbered("orders", 1..=2)).await;
        say(&server, "CONFIG SET maxmemory 1").await;
        for count in [1, 3] {
            let run = numbered("orders", 1..=count);
            unavailable(&publisher, &run, "reached maxmemory").await;
        }
        say(&server, "CONFIG SET maxmemory 0").await;
        publish_all(&publisher, &numbered("orders", 1..=2)).await;
        say(&server, "FLUSHALL").await;
    }
}

#[tokio::test]
async fn f3_a_replica_is_unavailable_until_it_is_promoted() {
    let (primary, server) = (plain(&[]), plain(&[]));
    for publisher in publishers(&server) {
        publish_all(&publisher, &numbered("orders", 1..=2)).await;
        say(&server, &format!("REPLICAOF 127.0.0.1 {}", primary.port())).await;
        for count in [1, 3] {
            let run = numbered("orders", 1..=count);
            unavailable(&publisher, &run, "put the primary into the URL").await;
        }
        let topic = message("orders", "").topic;
        let checked = publisher.check(&topic).await.unwrap_err();
        assert_eq!(checked.kind, PublishErrorKind::Unavailable, "{checked}");
        assert!(checked.text.contains("is a replica"), "{checked}");
        say(&server, "REPLICAOF NO ONE").await;
        publish_all(&publisher, &numbered("orders", 1..=2)).await;
        publisher.check(&topic).await.unwrap();
        say(&server, "FLUSHALL").await;
    }
}

#[tokio::test]
async fn f3_too_few_replicas_are_unavailable() {
    let server = plain(&[("min-replicas-to-write", "1")]);
    for publisher in publishers(&server) {
        let run = numbered("orders", 1..=2);
        unavailable(&publisher, &run, "fewer replicas").await;
    }
}

#[tokio::test]
async fn f3_a_server_that_is_busy_with_a_script_asks_for_less_until_it_is_killed() {
    let server = plain(&[("lua-time-limit", "1")]);
    let publisher = RedisPublisher::new(&server.url()).unwrap();
    publish_all(&publisher, &[message("orders", "a")]).await;
    let mut other = client(&server).await;
    let script = tokio::spawn(async move {
        let script = redis::cmd("EVAL")
            .arg("while true do end")
            .arg(0)
            .to_owned();
        script.exec_async(&mut other).await
    });
    // Until the script runs, runs are confirmed; until its time is over, they wait.
    let failure = loop {
        if let Some(failure) = crate::run::publish(&publisher, &[message("orders", "b")])
            .await
            .failure
        {
            break failure;
        }
    };
    assert_eq!(failure.kind, PublishErrorKind::Throttled, "{failure:?}");
    assert!(failure.text.contains("busy with a script"), "{failure}");
    assert_eq!(say(&server, "SCRIPT KILL").await, "OK");
    assert!(script.await.unwrap().is_err());
    publish_all(&publisher, &[message("orders", "c")]).await;
}

#[tokio::test]
async fn d1_a_server_that_is_stopped_and_started_again_has_all_and_goes_on() {
    let mut server = plain(&[]);
    let publisher = RedisPublisher::new(&server.url()).unwrap();
    publish_all(&publisher, &numbered("orders", 1..=10)).await;
    server.stop().unwrap();
    unavailable(
        &publisher,
        &numbered("orders", 11..=12),
        "redis://127.0.0.1:",
    )
    .await;
    server.start_again().unwrap();
    publish_until_it_works(&publisher, &numbered("orders", 11..=20)).await;
    let all: Vec<_> = (1..=20).map(|number| number.to_string()).collect();
    assert_eq!(list(&server, "orders").await, all);
}

#[tokio::test]
async fn a_connection_that_the_server_closed_meanwhile_costs_no_failure() {
    let server = plain(&[]);
    let proxy = Proxy::start(server.port()).unwrap();
    let url = format!("redis://127.0.0.1:{}", proxy.port());
    let publisher = RedisPublisher::new(&url).unwrap();
    publish_all(&publisher, &[message("orders", "a")]).await;
    proxy.cut();
    // The runtime of this test sees the end of the connection before it comes back here.
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    publish_all(&publisher, &[message("orders", "b")]).await;
    assert_eq!(proxy.accepted(), 2);
}

#[tokio::test]
async fn many_runs_at_once_share_one_connection() {
    let server = plain(&[]);
    let proxy = Proxy::start(server.port()).unwrap();
    let url = format!("redis://127.0.0.1:{}", proxy.port());
    let publisher = RedisPublisher::new(&url).unwrap();
    let tasks: Vec<_> = (0..200)
        .map(|n| {
            let publisher = publisher.clone();
            tokio::spawn(async move {
                publish_all(&publisher, &numbered(&format!("topic-{n}"), 1..=3)).await;
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(proxy.accepted(), 1);
}

#[tokio::test]
async fn d1_a_message_without_the_replicas_that_are_asked_for_is_not_confirmed() {
    let (server, replica) = (plain(&[]), plain(&[]));
    let url = format!("{}/?wait_replicas=1", server.url());
    let publisher = RedisPublisher::new(&url).unwrap();
    let run = numbered("orders", 1..=2);
    unavailable(&publisher, &run, "0 replicas of redis://127.0.0.1:").await;
    say(&replica, &format!("REPLICAOF 127.0.0.1 {}", server.port())).await;
    publish_until_it_works(&publisher, &run).await;
    let found = list(&replica, "orders").await;
    assert_eq!(found[found.len() - 2..], ["1", "2"]);
}

#[tokio::test]
async fn f3_a_server_that_is_full_of_clients_is_unavailable() {
    let server = plain(&[]);
    let looking = client(&server).await;
    say(&server, "CONFIG SET maxclients 1").await;
    let publisher = RedisPublisher::new(&server.url()).unwrap();
    let failure = fail_after(&publisher, &[message("orders", "a")], 0).await;
    assert_eq!(failure.kind, PublishErrorKind::Unavailable, "{failure:?}");
    drop(looking);
    publish_until_it_works(&publisher, &[message("orders", "a")]).await;
}
