//! Stopped topics among several relays: some are gone, some cannot reach what others reach (contract F3, S15, P3).

use outbox_publisher::PublishErrorKind::{Throttled, Unavailable};
use outbox_testkit::{Call, Reply, ScriptedPublisher};
use tokio::time::Instant;

use crate::{
    stops::{save_mail, two_routes},
    world::{pass, secs},
};

#[tokio::test(start_paused = true)]
async fn f3_a_topic_is_not_stopped_for_long_by_a_relay_that_is_gone() {
    let world = two_routes();
    for key in 0..100 {
        world
            .save_to("mail", &format!("mail-{key}"), Some(&format!("k-{key}")))
            .await;
    }
    world.broker.down("mail server", Unavailable);
    let gone = world.start();
    pass(secs(10)).await;
    gone.crash().await;
    assert_eq!(world.status().await.stopped.len(), 1);
    world.broker.up("mail server");
    let (relay, begun) = (world.start(), Instant::now());
    world.broker.confirmations(100).await;
    // Its lease, and a minute until the next upkeep.
    assert!(begun.elapsed() < secs(110), "{:?}", begun.elapsed());
    assert_eq!(relay.stop().await.dead, 0);
}

#[tokio::test(start_paused = true)]
async fn f3_two_relays_stop_a_topic_and_one_of_them_finds_it_up_again() {
    let world = two_routes();
    for key in 0..100 {
        world
            .save_to("mail", &format!("mail-{key}"), Some(&format!("k-{key}")))
            .await;
    }
    world.broker.down("mail server", Unavailable);
    let mut config = world.config.clone();
    let one = world.start();
    config.name = "two".into();
    let two = world.start_beside(config);
    pass(secs(60)).await;
    world.broker.up("mail server");
    world.broker.confirmations(100).await;
    pass(secs(5)).await;
    assert_eq!(world.status().await.stopped, []);
    assert_eq!(one.stop().await.dead + two.stop().await.dead, 0);
}

#[tokio::test(start_paused = true)]
async fn f3_a_relay_that_cannot_reach_a_destination_stops_nothing_for_long_of_what_another_serves()
{
    let world = two_routes();
    let nowhere = ScriptedPublisher::new().route("mail", "mail server");
    nowhere.down("mail server", Unavailable);
    let mut config = world.config.clone();
    config.name = "cut off".into();
    let (relay, cut_off) = (world.start(), world.start_elsewhere(&nowhere, config));
    for round in 0..10 {
        save_mail(&world, round).await;
        pass(secs(100)).await;
        let confirmed = world.broker.confirmed().len();
        assert_eq!(confirmed, (round + 1) * 1_000, "round {round}");
    }
    assert!(nowhere.handed().len() >= 10, "it goes on to look");
    assert_eq!(relay.stop().await.dead + cut_off.stop().await.dead, 0);
    assert_eq!(world.status().await.pending(), 0);
}

#[tokio::test(start_paused = true)]
async fn f3_f4_a_destination_that_asks_for_an_hour_has_it_from_what_it_refused_and_as_long_as_the_relay_lives()
 {
    let world = two_routes();
    world.broker.all(Reply::FailFor(Throttled, secs(3_600)));
    save_mail(&world, 0).await;
    let gone = world.start();
    pass(secs(600)).await;
    let refused = world.broker.handed().len();
    assert!(refused <= world.config.concurrency, "{refused} refused");
    assert_eq!(world.status().await.stopped.len(), 1, "it is said again");
    gone.crash().await;

    world.broker.all(Reply::Confirm);
    let (relay, begun) = (world.start(), Instant::now());
    world.broker.confirmations(1_000 - refused).await;
    assert!(begun.elapsed() < secs(110), "{:?}", begun.elapsed());
    pass(secs(600)).await;
    assert_eq!(world.status().await.pending(), refused as u64);
    relay.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s15_a_relay_that_ends_before_it_has_freed_leaves_that_to_the_next() {
    for killed in [false, true] {
        let world = two_routes();
        world.broker.down("mail server", Unavailable);
        save_mail(&world, 0).await;
        let relay = world.start();
        pass(secs(10)).await;
        world.store.hold(Call::FreeTopics);
        world.broker.up("mail server");
        pass(secs(3)).await;
        let begun = Instant::now();
        if killed {
            relay.crash().await;
        } else {
            relay.stop().await;
            assert!(begun.elapsed() <= world.config.grace);
        }
        assert!(world.broker.confirmed().len() < 100);
        world.store.open(Call::FreeTopics);
        let relay = world.start();
        world.broker.confirmations(1_000).await;
        assert!(begun.elapsed() < secs(60), "{:?}", begun.elapsed());
        relay.stop().await;
        let status = world.status().await;
        assert_eq!((status.pending(), status.stopped.len()), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn p3_relays_that_take_each_others_probes_do_not_believe_for_long_that_the_other_serves_the_topic()
 {
    let world = two_routes();
    world.broker.down("mail server", Unavailable);
    world.save_to("mail", "alone", Some("k")).await;
    let mut config = world.config.clone();
    config.name = "two".into();
    let (one, two) = (world.start(), world.start_beside(config));
    pass(secs(60)).await;
    save_mail(&world, 0).await;
    pass(secs(60)).await;
    let outcomes = || {
        let settlements = world.store.settlements().into_iter().flatten();
        settlements.map(|lane| lane.outcomes.len()).sum::<usize>()
    };
    let before = outcomes();
    pass(secs(100)).await;
    let tries = outcomes() - before;
    assert!(tries < 300, "{tries} tries in 100 seconds");
    assert_eq!(world.status().await.stopped.len(), 1);
    one.crash().await;
    two.crash().await;
}
