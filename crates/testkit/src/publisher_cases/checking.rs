//! What a publisher says without publishing: how its destination is called, and whether it could publish now.

use outbox_message::Topic;
use outbox_publisher::PublishErrorKind;

use crate::{Door, Fault, PublisherHarness, publisher_scene::Scene};

/// F3: a destination has one name, the same before and after a connection, and from every publisher to it.
pub async fn f3_a_destination_has_one_name<H: PublisherHarness>() {
    let s = Scene::<H>::new().await;
    let name = s.client.destination();
    assert!(!name.trim().is_empty(), "people read it");
    s.client.confirm(&s.client.one("k", 1)).await;
    assert_eq!(s.client.destination(), name);
    assert_eq!(s.client(Door::Plain).destination(), name);
    let other = Topic::new("some.other-topic").expect("it is one");
    if s.client.publisher.has_one_destination() {
        assert_eq!(s.client.publisher.destination(&other), name);
    }
}

/// A check of a destination that is ready says yes, again and again, and publishes nothing.
pub async fn check_says_yes_and_publishes_nothing<H: PublisherHarness>() {
    let mut s = Scene::<H>::new().await;
    for _ in 0..3 {
        let checked = s.client.check().await;
        assert!(checked.is_ok(), "{checked:?}");
    }
    s.client.confirm(&s.client.one("k", 1)).await;
    let checked = s.client.check().await;
    assert!(checked.is_ok(), "{checked:?}");
    assert_eq!(s.arrived().await.texts(), ["k:1"]);
}

/// F3: a check of a server that is away says so, and yes when it is back.
pub async fn check_tells_that_the_server_is_away<H: PublisherHarness>() {
    let mut s = Scene::<H>::new().await;
    s.harness.strike(Fault::Refused).await;
    for checked in [s.client.check().await, s.client.reach().await] {
        let failure = checked.expect_err("the server is away");
        assert_eq!(failure.kind, PublishErrorKind::Unavailable, "{failure:?}");
    }
    s.harness.heal().await;
    // The publisher heals by publishing; a check is no promise about the moment after.
    s.client.confirm(&s.client.one("k", 1)).await;
    for checked in [s.client.check().await, s.client.reach().await] {
        assert!(checked.is_ok(), "{checked:?}");
    }
}

/// F3: a check of a missing destination names it.
pub async fn check_names_a_missing_destination<H: PublisherHarness>() {
    if !H::CAPABILITIES.missing {
        return;
    }
    let mut s = Scene::<H>::new().await;
    s.harness.strike(Fault::Missing).await;
    let failure = s.client.check().await.expect_err("it is missing");
    assert_eq!(failure.kind, PublishErrorKind::Unavailable, "{failure:?}");
    assert!(
        failure.text.contains(&s.harness.missing_name()),
        "{failure}"
    );
    s.harness.heal().await;
    s.client.confirm(&s.client.one("k", 1)).await;
    let checked = s.client.check().await;
    assert!(checked.is_ok(), "{checked:?}");
}

/// F3: a check with refused credentials, or over TLS without trust, says so.
pub async fn check_tells_that_the_door_is_closed<H: PublisherHarness>() {
    let s = Scene::<H>::new().await;
    let mut doors = Vec::new();
    if H::CAPABILITIES.credentials {
        doors.push(Door::WrongCredentials);
    }
    if H::CAPABILITIES.tls {
        doors.push(Door::UntrustedTls);
    }
    for door in doors {
        let client = s.client(door);
        for checked in [client.check().await, client.reach().await] {
            let failure = checked.expect_err("the door is closed");
            assert_eq!(failure.kind, PublishErrorKind::Unavailable, "{failure:?}");
        }
    }
}
