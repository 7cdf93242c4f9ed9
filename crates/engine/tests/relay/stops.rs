//! A relay with several destinations stops the topics whose destinations are down, and the others go on (contract F3, O7, P3).

use std::collections::BTreeMap;

use outbox_publisher::PublishErrorKind::{Throttled, Unavailable};
use outbox_store::{OutboxOperator, OutboxStore, StopCause};
use outbox_testkit::{Call, Reply, ScriptedPublisher};

use crate::world::{World, pass, secs, topic};

pub(crate) fn two_routes() -> World {
    World::with_broker(ScriptedPublisher::new().route("mail", "mail server"))
}

/// Of each key, the ids in the order in which they were confirmed.
fn confirmed_by_key(world: &World) -> BTreeMap<Option<String>, Vec<String>> {
    let mut keys: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for id in world.broker.confirmed() {
        let key = id.rsplit_once('.').map(|(key, _)| key.to_owned());
        keys.entry(key).or_default().push(id);
    }
    keys
}

#[tokio::test(start_paused = true)]
async fn f3_one_route_down_for_ten_minutes_leaves_the_other_its_speed_and_keeps_what_was_set_aside_in_order()
 {
    let world = two_routes();
    world.broker.down("mail server", Unavailable);
    let relay = world.start();
    for number in 0..5 {
        for key in 0..60 {
            let id = format!("mail-{key}.{number}");
            world.save_to("mail", &id, Some(&format!("k-{key}"))).await;
        }
        for unkeyed in 0..40 {
            world
                .save_to("mail", &format!("unkeyed-{unkeyed}-{number}"), None)
                .await;
        }
    }
    pass(secs(5)).await;
    let handed = world.broker.handed().len();
    let (mut late, mut saved) = (0, 0);
    for second in 0..600 {
        let before = world.broker.confirmed().len();
        for index in 0..5 {
            let key = format!("k-{}", (second + index * 13) % 60);
            world.save(&format!("o-{second}-{index}"), Some(&key)).await;
            saved += 1;
        }
        pass(secs(1)).await;
        late += usize::from(world.broker.confirmed().len() < before + 5);
    }
    assert_eq!(
        world.broker.confirmed().len(),
        saved,
        "nothing waits but mail"
    );
    assert!(late < 6, "in {late} of 600 seconds something came late");
    let probes = world.broker.handed().len() - handed - saved;
    assert!(
        (500..=610).contains(&probes),
        "{probes} probes in ten minutes"
    );
    let status = world.status().await;
    assert_eq!(status.stopped.len(), 1);
    assert_eq!(status.stopped[0].topic, "mail");
    assert_eq!(status.stopped[0].cause, StopCause::Destination);
    assert_eq!(
        status.stopped[0].destination.as_deref(),
        Some("mail server")
    );

    world.broker.up("mail server");
    world.broker.confirmations(saved + 500).await;
    pass(secs(2)).await;
    let report = relay.stop().await;
    assert_eq!(report.dead, 0);
    assert!(
        world
            .broker
            .handed()
            .iter()
            .all(|handed| handed.attempts == 0)
    );
    for (key, ids) in confirmed_by_key(&world) {
        if key.is_some() {
            assert!(ids.is_sorted(), "{key:?}: {ids:?}");
        }
    }
    let status = world.status().await;
    assert_eq!((status.pending(), status.stopped.len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn f3_probes_of_a_stopped_topic_meet_other_keys_in_turn() {
    let world = two_routes();
    for key in 0..40 {
        world
            .save_to("mail", &format!("mail-{key}"), Some(&format!("k-{key}")))
            .await;
    }
    world.save("o", None).await;
    world.broker.down("mail server", Unavailable);
    let relay = world.start();
    pass(secs(5)).await;
    let before = world.broker.handed().len();
    pass(secs(20)).await;
    let handed = world.broker.handed();
    let probed: std::collections::HashSet<_> = handed[before..]
        .iter()
        .map(|handed| handed.id.clone())
        .collect();
    assert!(
        probed.len() >= 15,
        "only {} different messages in twenty probes",
        probed.len()
    );
    relay.crash().await;
}

#[tokio::test(start_paused = true)]
async fn f3_a_relay_that_stops_leaves_no_topic_stopped() {
    let world = two_routes();
    world.save_to("mail", "mail", Some("k")).await;
    world.broker.down("mail server", Unavailable);
    let relay = world.start();
    pass(secs(10)).await;
    relay.stop().await;
    let stopped = world.status().await.stopped;
    let running = |until: Option<std::time::Duration>| until.is_none_or(|until| until > secs(0));
    assert!(
        !stopped.iter().any(|topic| running(topic.until)),
        "{stopped:?}"
    );
    world.broker.up("mail server");
    assert_eq!(world.drain().await.published, 1);
}

#[tokio::test(start_paused = true)]
async fn f3_what_could_not_be_recorded_of_a_stop_is_recorded_later() {
    let world = two_routes();
    for key in 0..20 {
        world
            .save_to("mail", &format!("mail-{key}"), Some(&format!("k-{key}")))
            .await;
    }
    world.broker.down("mail server", Unavailable);
    let relay = world.start();
    pass(secs(5)).await;
    world.store.fail(Call::StartTopics, 3);
    world.store.fail(Call::FreeTopics, 3);
    world.broker.up("mail server");
    world.broker.confirmations(20).await;
    pass(secs(5)).await;
    assert!(world.store.calls(Call::StartTopics) > 3);
    assert_eq!(world.status().await.stopped, []);
    relay.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a6_a_paused_topic_waits_until_it_is_resumed() {
    let world = World::new();
    let store = world.memory();
    store.pause(&topic("mail"), None).await.unwrap();
    let relay = world.start();
    for number in 0..10 {
        world
            .save_to("mail", &format!("mail.{number}"), Some("k"))
            .await;
        world.save(&format!("o.{number}"), Some("k")).await;
    }
    world.broker.confirmations(10).await;
    pass(secs(600)).await;
    assert_eq!(world.broker.confirmed().len(), 10);
    assert_eq!(world.status().await.paused, 10);
    assert!(store.resume(&topic("mail")).await.unwrap());
    while store.free_topics().await.unwrap() > 0 {}
    world.broker.confirmations(20).await;
    assert!(confirmed_by_key(&world)[&Some("mail".to_owned())].is_sorted());
    relay.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a6_a_pause_with_a_time_ends_by_itself() {
    let world = World::new();
    world
        .memory()
        .pause(&topic("mail"), Some(secs(300)))
        .await
        .unwrap();
    let relay = world.start();
    world.save_to("mail", "mail", None).await;
    pass(secs(299)).await;
    assert_eq!(world.broker.confirmed().len(), 0);
    pass(secs(70)).await;
    assert_eq!(world.broker.confirmed().len(), 1);
    relay.stop().await;
}

/// A thousand messages to the mail server, each of a key of its own.
pub(crate) async fn save_mail(world: &World, round: usize) {
    for key in 0..1_000 {
        let id = format!("mail-{round}-{key}");
        world.save_to("mail", &id, Some(&format!("k-{key}"))).await;
    }
}

#[tokio::test(start_paused = true)]
async fn f3_while_a_probe_hangs_no_other_message_is_let_through() {
    let world = two_routes();
    world.broker.all(Reply::Hang);
    save_mail(&world, 0).await;
    let relay = world.start();
    pass(secs(30)).await;
    let before = world.store.calls(Call::ProbeTopic);
    pass(secs(100)).await;
    let probes = world.store.calls(Call::ProbeTopic) - before;
    assert!((8..=11).contains(&probes), "{probes} probes of ten seconds");
    relay.crash().await;
}

/// How often a second the store is called, over this time.
async fn calls_a_second(world: &World, seconds: usize) -> usize {
    const CALLS: [Call; 10] = [
        Call::Claim,
        Call::Settle,
        Call::Extend,
        Call::Starting,
        Call::RecordCircuit,
        Call::StopTopics,
        Call::ProbeTopic,
        Call::StartTopics,
        Call::FreeTopics,
        Call::Maintain,
    ];
    let calls = || CALLS.map(|call| world.store.calls(call));
    let before: usize = calls().iter().sum();
    pass(secs(seconds as u64)).await;
    let after: usize = calls().iter().sum();
    (after - before).div_ceil(seconds)
}

#[tokio::test(start_paused = true)]
async fn p3_a_stopped_topic_costs_a_few_calls_a_second_whatever_stops_it() {
    let world = two_routes();
    let relay = world.start();
    pass(secs(10)).await;
    let idle = calls_a_second(&world, 100).await;

    world.broker.down("mail server", Unavailable);
    assert_eq!(calls_a_second(&world, 100).await, idle, "nothing pending");
    save_mail(&world, 0).await;
    pass(secs(10)).await;
    let probing = calls_a_second(&world, 100).await;
    assert!(probing <= 12, "down: {probing} calls a second");

    let store = world.memory();
    store.pause(&topic("mail"), None).await.unwrap();
    pass(secs(10)).await;
    assert_eq!(calls_a_second(&world, 100).await, idle, "down and paused");
    assert!(store.resume(&topic("mail")).await.unwrap());
    pass(secs(100)).await;
    assert_eq!(calls_a_second(&world, 100).await, probing, "resumed");

    world.broker.up("mail server");
    pass(secs(10)).await;
    assert_eq!(calls_a_second(&world, 100).await, idle, "up again");
    for after in [0, 3_600] {
        let reply = Reply::FailFor(Throttled, secs(after));
        world.broker.all(reply);
        save_mail(&world, 1 + usize::from(after > 0)).await;
        pass(secs(10)).await;
        let calls = calls_a_second(&world, 100).await;
        assert!(calls <= 12, "{reply:?}: {calls} calls a second");
    }
    relay.crash().await;
}

#[tokio::test(start_paused = true)]
async fn f3_a_round_and_a_drain_stop_no_topic_and_come_to_their_end() {
    let world = two_routes();
    world.broker.down("mail server", Unavailable);
    save_mail(&world, 0).await;
    world.save_many("order", 50, None).await;
    assert!(world.flush().await.published <= 50);
    world.drain().await;
    assert_eq!(world.broker.confirmed().len(), 50, "the orders");
    let status = world.status().await;
    assert_eq!((status.pending(), status.stopped.len()), (1_000, 0));
    assert_eq!(world.store.calls(Call::StopTopics), 0);
    let claims = world.store.calls(Call::Claim);
    assert!(claims < 100, "{claims} claims");

    world.broker.up("mail server");
    pass(secs(2)).await;
    assert_eq!(world.drain().await.published, 1_000);
}

#[tokio::test(start_paused = true)]
async fn f3_every_topic_of_a_destination_is_stopped_as_long_as_it_is_down() {
    let world = World::with_broker((0..100).fold(ScriptedPublisher::new(), |broker, number| {
        broker.route(format!("mail-{number}"), "mail server")
    }));
    world.broker.down("mail server", Unavailable);
    for number in 0..100 {
        let id = format!("m-{number}");
        world.save_to(&format!("mail-{number}"), &id, None).await;
    }
    let relay = world.start();
    pass(secs(10)).await;
    for _ in 0..30 {
        pass(secs(10)).await;
        let stopped = world.status().await.stopped;
        let running = stopped.iter().filter(|it| it.until > Some(secs(0)));
        assert!(running.count() >= 98, "{stopped:?}");
    }
    world.broker.up("mail server");
    world.broker.confirmations(100).await;
    relay.stop().await;
    assert_eq!(world.status().await.stopped, []);
}
