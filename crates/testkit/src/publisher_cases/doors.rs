//! Credentials and TLS, and that no text shows a secret (F3).

use outbox_publisher::PublishErrorKind;

use crate::{Door, Fault, PublisherHarness, publisher_scene::Scene};

/// F3: refused credentials are an outage, and nothing arrives.
pub async fn f3_refused_credentials_are_unavailable<H: PublisherHarness>() {
    if !H::CAPABILITIES.credentials {
        return;
    }
    let mut s = Scene::<H>::new().await;
    let stranger = s.client(Door::WrongCredentials);
    for _ in 0..3 {
        let failure = stranger.fail(&stranger.one("k", 1)).await;
        assert_eq!(failure.kind, PublishErrorKind::Unavailable, "{failure:?}");
    }
    assert_eq!(s.arrived().await.texts(), [""; 0]);
}

/// Messages arrive over TLS, and the connection is made again like any other.
pub async fn messages_arrive_over_tls<H: PublisherHarness>() {
    if !H::CAPABILITIES.tls {
        return;
    }
    let mut s = Scene::<H>::new().await;
    let client = s.client(Door::Tls);
    client.publish_all(&client.numbered("k", 1..=10)).await;
    s.harness.strike(Fault::Cut).await;
    s.harness.heal().await;
    client.confirm(&client.numbered("k", 11..=20)).await;
    s.arrived().await.assert_first("k", 20);
}

/// A server that an unknown authority vouches for is given nothing (F3).
pub async fn f3_a_server_that_is_not_trusted_is_unavailable<H: PublisherHarness>() {
    if !H::CAPABILITIES.tls {
        return;
    }
    let mut s = Scene::<H>::new().await;
    let client = s.client(Door::UntrustedTls);
    for _ in 0..3 {
        let failure = client.fail(&client.one("k", 1)).await;
        assert_eq!(failure.kind, PublishErrorKind::Unavailable, "{failure:?}");
    }
    assert_eq!(s.arrived().await.texts(), [""; 0]);
}

/// Neither what a publisher is called nor what it prints about itself shows a secret, before and after it is connected.
pub async fn no_text_shows_a_secret<H: PublisherHarness>() {
    let s = Scene::<H>::new().await;
    let mut doors = vec![Door::Plain];
    if H::CAPABILITIES.credentials {
        doors.push(Door::WrongCredentials);
    }
    if H::CAPABILITIES.tls {
        doors.extend([Door::Tls, Door::UntrustedTls]);
    }
    for door in doors {
        let client = s.client(door);
        for _ in 0..2 {
            client.assert_no_secret(&client.destination());
            client.assert_no_secret(&format!("{:?} {:#?}", client.publisher, client.publisher));
            // The texts of failures are looked at wherever there is one.
            client.publish(&client.one("k", 1)).await;
        }
    }
}
