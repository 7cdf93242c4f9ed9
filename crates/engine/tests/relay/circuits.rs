//! Outages: F3, cases 18 and 24, and two destinations of which one is down.

use outbox_publisher::PublishErrorKind::{Malformed, Rejected, Throttled, Unavailable};
use outbox_store::OutboxStore;
use outbox_testkit::{Call, Reply, ScriptedPublisher};

use crate::world::{World, pass, secs};

#[tokio::test(start_paused = true)]
async fn f3_case_18_an_outage_of_half_an_hour_kills_nothing_and_is_probed_one_message_at_a_time() {
    let mut world = World::new();
    world.config.max_attempts = 5;
    for index in 0..10_000 {
        world
            .save(&format!("m-{index}"), Some(&format!("k-{}", index % 100)))
            .await;
    }
    world.broker.down("broker", Unavailable);
    let relay = world.start();
    pass(secs(5)).await;
    let (settled, handed) = (world.store.calls(Call::Settle), world.broker.handed().len());
    pass(secs(30 * 60)).await;
    let probes = world.broker.handed().len() - handed;
    assert!(
        (1_700..=1_810).contains(&probes),
        "{probes} probes in half an hour"
    );
    assert!(world.store.calls(Call::Settle) - settled <= probes + 1);
    let status = world.status().await;
    assert_eq!(
        (status.dead, status.pending(), status.circuits.len()),
        (0, 10_000, 1)
    );
    assert!(status.circuits[0].error.contains("scripted failure"));
    world.broker.up("broker");
    // Within one probe interval it is drained again.
    pass(secs(2)).await;
    assert!(world.broker.confirmed().len() > 100);
    world.broker.confirmations(10_000).await;
    let report = relay.stop().await;
    assert_eq!((report.published, report.dead), (10_000, 0));
    assert!(
        world
            .broker
            .handed()
            .iter()
            .all(|handed| handed.attempts == 0)
    );
    assert_eq!(world.status().await.circuits, []);
}

#[tokio::test(start_paused = true)]
async fn f3_case_24_while_the_destination_is_down_nothing_but_probes_is_published_and_no_lease_is_left()
 {
    let world = World::new();
    world.save_many("m", 200, None).await;
    world.broker.down("broker", Unavailable);
    let relay = world.start();
    pass(secs(3)).await;
    let before = world.broker.handed().len();
    // Whatever arrives meanwhile wakes the relay, and changes nothing.
    for index in 0..100 {
        world.save(&format!("late-{index}"), None).await;
        pass(std::time::Duration::from_millis(100)).await;
    }
    let probes = world.broker.handed().len() - before;
    assert!((8..=11).contains(&probes), "{probes} probes in ten seconds");
    assert_eq!(world.status().await.lanes, []);
    let report = relay.stop().await;
    assert_eq!((report.left, report.lost), (0, 0));
    let status = world.status().await;
    assert_eq!((status.lanes, status.circuits), (vec![], vec![]));
}

#[tokio::test(start_paused = true)]
async fn f3_probes_meet_different_lanes_in_turn() {
    let world = World::new();
    for index in 0..50 {
        world
            .save(&format!("m-{index}"), Some(&format!("k-{index}")))
            .await;
    }
    world.broker.down("broker", Unavailable);
    let relay = world.start();
    pass(secs(3)).await;
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
async fn f3_heads_that_fail_by_themselves_do_not_keep_a_healthy_destination_down() {
    // Such a message looks like an outage. They are at the head of every lane, many of them, and healthy ones behind them.
    let world = World::new();
    let bad = usize::from(world.memory().lanes().get()) * 10;
    for index in 0..bad {
        let id = format!("bad-{index}");
        world.broker.on(&id, vec![Reply::Fail(Unavailable); 4_000]);
        world.save(&id, Some(&id)).await;
    }
    for index in 0..500 {
        let id = format!("good-{index}");
        world.save(&id, Some(&id)).await;
    }
    let relay = world.start();
    pass(secs(60 * 60)).await;
    let confirmed = world.broker.confirmed();
    let good = confirmed.iter().filter(|id| id.starts_with("good"));
    assert_eq!(good.count(), 500);
    let status = world.status().await;
    assert_eq!(
        (status.dead, status.pending()),
        (0, u64::try_from(bad).unwrap())
    );
    assert!(world.broker.handed().iter().all(|it| it.attempts == 0));
    relay.crash().await;
}

#[tokio::test(start_paused = true)]
async fn f3_one_destination_down_leaves_the_other_alone() {
    let world = World::with_broker(ScriptedPublisher::new().route("mail", "mail server"));
    for index in 0..50 {
        world
            .save_to(
                "mail",
                &format!("mail-{index}"),
                Some(&format!("k-{index}")),
            )
            .await;
    }
    world.broker.down("mail server", Unavailable);
    let relay = world.start();
    pass(secs(5)).await;
    for index in 0..100 {
        world
            .save(&format!("m-{index}"), Some(&format!("k-{}", index % 7)))
            .await;
    }
    world.broker.confirmations(100).await;
    pass(secs(600)).await;
    world.broker.up("mail server");
    world.broker.confirmations(150).await;
    let report = relay.stop().await;
    assert_eq!((report.published, report.dead), (150, 0));
    assert!(
        world
            .broker
            .handed()
            .iter()
            .all(|handed| handed.attempts == 0)
    );
}

#[tokio::test(start_paused = true)]
async fn f3_a_circuit_that_closed_while_its_opening_was_being_recorded_is_closed() {
    let world = World::new();
    world.save("a", None).await;
    world.broker.down("broker", Unavailable);
    world.store.hold(Call::RecordCircuit);
    let relay = world.start();
    world.store.begun(Call::RecordCircuit, 1).await;
    world.broker.up("broker");
    world.broker.confirmations(1).await;
    assert_eq!(world.store.calls(Call::RecordCircuit), 1);
    world.store.open(Call::RecordCircuit);
    world.store.begun(Call::RecordCircuit, 2).await;
    assert_eq!(relay.stop().await.published, 1);
    assert_eq!(world.status().await.circuits, []);
}

#[tokio::test(start_paused = true)]
async fn f4_a_destination_that_asks_for_no_delay_is_probed_once_a_transient_delay_all_the_same() {
    let world = World::new();
    world.save_many("m", 20, None).await;
    world.broker.all(Reply::FailFor(Throttled, secs(0)));
    let relay = world.start();
    pass(secs(1)).await;
    let before = world.broker.handed().len();
    pass(secs(10)).await;
    let probes = world.broker.handed().len() - before;
    relay.crash().await;
    assert!((9..=11).contains(&probes), "{probes} probes in ten seconds");
}

#[tokio::test(start_paused = true)]
async fn f3_case_24_a_probe_that_is_refused_closes_nothing_and_the_next_waits_its_turn() {
    let world = World::new();
    world.save_many("m", 200, None).await;
    world.broker.down("broker", Unavailable);
    let relay = world.start();
    pass(secs(2)).await;
    world.broker.all(Reply::Fail(Rejected));
    world.broker.up("broker");
    let before = world.broker.handed().len();
    pass(secs(10)).await;
    let probes = world.broker.handed().len() - before;
    relay.crash().await;
    assert!((9..=11).contains(&probes), "{probes} probes in ten seconds");
}

#[tokio::test(start_paused = true)]
async fn f3_case_24_an_open_circuit_that_nobody_needs_hurries_no_other() {
    let world = World::with_broker(ScriptedPublisher::new().route("mail", "mail server"));
    world
        .broker
        .on("mail-0", [Reply::Fail(Unavailable), Reply::Fail(Malformed)]);
    world.save_to("mail", "mail-0", None).await;
    let relay = world.start();
    pass(secs(3)).await;
    assert_eq!(world.status().await.dead, 1);
    world.broker.down("broker", Unavailable);
    world.save_many("m", 50, None).await;
    pass(secs(1)).await;
    let before = world.broker.handed().len();
    pass(secs(10)).await;
    let probes = world.broker.handed().len() - before;
    relay.crash().await;
    assert!((8..=11).contains(&probes), "{probes} probes in ten seconds");
}

#[tokio::test(start_paused = true)]
async fn f3_a_probe_that_hangs_makes_nobody_spin() {
    let world = World::with_broker(ScriptedPublisher::new().route("mail", "mail server"));
    world.save("first", None).await;
    world.broker.down("mail server", Unavailable);
    let relay = world.start();
    world.broker.confirmations(1).await;
    for index in 0..300 {
        world.save_to("mail", &format!("mail-{index}"), None).await;
    }
    pass(secs(3)).await;
    world.broker.all(Reply::Hang);
    world.broker.up("mail server");
    pass(secs(2)).await;
    let before = world.store.calls(Call::Settle);
    pass(secs(3)).await;
    let settled = world.store.calls(Call::Settle) - before;
    relay.crash().await;
    assert!(
        settled < 100,
        "{settled} settlements in three seconds while one probe hangs"
    );
}

#[tokio::test(start_paused = true)]
async fn f3_a_destination_that_asked_for_an_hour_delays_no_probe_of_another() {
    let world = World::with_broker(ScriptedPublisher::new().route("mail", "mail server"));
    for index in 0..40 {
        let id = format!("mail-{index}");
        world.save_to("mail", &id, None).await;
        world
            .broker
            .on(&id, [Reply::FailFor(Throttled, secs(3_600))]);
    }
    world.save_many("m", 40, None).await;
    world.broker.down("broker", Unavailable);
    let relay = world.start();
    pass(secs(20)).await;
    world.broker.up("broker");
    pass(secs(120)).await;
    let confirmed = world.broker.confirmed().len();
    relay.crash().await;
    assert!(
        confirmed >= 40,
        "{confirmed} confirmed two minutes after the outage"
    );
}

#[tokio::test(start_paused = true)]
async fn f3_a_circuit_that_opens_again_is_probed_by_its_own_time() {
    let mut world = World::new();
    world.config.concurrency = 2;
    world.save("slow", None).await;
    world.save("throttled", None).await;
    world.save_many("m", 20, None).await;
    world.broker.on("slow", [Reply::Late(secs(3))]);
    world
        .broker
        .on("throttled", [Reply::FailFor(Throttled, secs(3_600))]);
    let relay = world.start();
    pass(secs(4)).await;
    world.broker.down("broker", Unavailable);
    world.save("late", None).await;
    pass(secs(5)).await;
    world.broker.up("broker");
    pass(secs(300)).await;
    let confirmed = world.broker.confirmed().len();
    relay.crash().await;
    assert!(confirmed >= 22, "{confirmed} of 22 confirmed");
}

#[tokio::test(start_paused = true)]
async fn f3_the_error_that_is_shown_of_an_outage_is_the_last_one() {
    let world = World::new();
    world.save_many("m", 3, None).await;
    world.broker.all(Reply::Fail(Unavailable));
    let relay = world.start();
    pass(secs(30)).await;
    let first = world.status().await.circuits.remove(0);
    assert!(first.error.contains("scripted failure"), "{first:?}");
    world.broker.all(Reply::Hang);
    pass(secs(30)).await;
    let last = world.status().await.circuits.remove(0);
    assert!(last.error.contains("did not end within"), "{last:?}");
    assert!(last.open_for > first.open_for);
    relay.stop().await;
}
