//! What is told of a death: saved with it, and published like any message (S16).

use std::sync::Arc;

use outbox_engine::{Death, DeathNotices};
use outbox_message::Message;
use outbox_publisher::PublishErrorKind::{Rejected, TooLarge};
use outbox_store::{AfterDeath, BoxError};
use outbox_testkit::Reply;

use crate::world::{World, pass, secs};

/// Tells of each death to another topic, and of the death of what it told to yet another; a message that it knows makes it panic.
#[derive(Debug)]
struct Told;

impl DeathNotices for Told {
    fn notice(&self, death: &Death<'_>) -> Result<Option<Message>, BoxError> {
        let died = &death.delivery.message;
        assert_ne!(died.id.as_str(), "panics");
        if died.id.as_str() == "silent" {
            return Ok(None);
        }
        let payload = format!(
            "{} {} {}",
            death.reason.as_str(),
            death.attempts,
            death.error
        );
        let topic = format!("{}.dlq", died.topic);
        let mut notice = Message::new(topic, payload)?.with_id(format!("of-{}", died.id))?;
        notice.key.clone_from(&died.key);
        Ok(Some(notice))
    }
}

fn telling() -> World {
    let mut world = World::new();
    world.config.notices = Some(Arc::new(Told));
    world
}

#[tokio::test(start_paused = true)]
async fn s16_each_death_is_told_once_and_the_key_goes_on() {
    let world = telling();
    for id in ["a", "b", "c"] {
        world.save(id, Some("k")).await;
    }
    world.broker.on("a", [Reply::Fail(TooLarge)]);
    world.broker.on("b", [Reply::Fail(Rejected); 6]);
    let relay = world.start();
    world.broker.confirmations(3).await;
    let report = relay.stop().await;
    assert_eq!((report.dead, report.published), (2, 3));
    let mut confirmed = world.broker.confirmed();
    confirmed.sort_unstable();
    assert_eq!(confirmed, ["c", "of-a", "of-b"]);
    let settlements = world.store.settlements();
    let deaths = settlements.iter().flatten().flat_map(|it| &it.outcomes);
    let told: Vec<_> = deaths
        .filter_map(|it| match &it.outcome {
            outbox_store::Outcome::Dead { notice, .. } => notice.clone(),
            _ => None,
        })
        .map(|notice| String::from_utf8_lossy(&notice.payload).into_owned())
        .collect();
    assert_eq!(told.len(), 2);
    assert!(told[0].starts_with("permanent 1 "), "{told:?}");
    assert!(told[1].starts_with("exhausted 6 "), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn s16_a_notice_does_not_wait_for_the_key_that_its_death_holds() {
    let mut world = telling();
    world.config.after_death = AfterDeath::Hold;
    for id in ["a", "b"] {
        world.save(id, Some("k")).await;
    }
    world.broker.on("a", [Reply::Fail(TooLarge)]);
    world.drain().await;
    pass(secs(10)).await;
    world.drain().await;
    assert_eq!(world.broker.confirmed(), ["of-a"]);
}

#[tokio::test(start_paused = true)]
async fn s16_a_hook_that_panics_or_has_nothing_to_say_costs_the_relay_nothing() {
    let world = telling();
    for id in ["panics", "silent", "c"] {
        world.save(id, None).await;
        if id != "c" {
            world.broker.on(id, [Reply::Fail(TooLarge)]);
        }
    }
    let report = world.drain().await;
    assert_eq!((report.dead, report.published), (2, 1));
    assert_eq!(world.dead().await.len(), 2);
}
