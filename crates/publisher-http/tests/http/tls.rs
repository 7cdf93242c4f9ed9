//! TLS: whom a publisher trusts, and what an operator is told when it does not.

use super::{assert_unavailable, fail, message, publish};
use crate::{
    certificates::Identity,
    receiver::{Receiver, Rules},
};
use outbox_publisher_http::{HttpConfig, HttpPublisher};

async fn receiver(identity: &Identity) -> Receiver {
    let rules = Rules {
        tls: Some(identity.acceptor.clone()),
        ..Rules::default()
    };
    Receiver::start(rules).await
}

fn publisher(scheme: &str, receiver: &Receiver, ca: Option<&Identity>) -> HttpPublisher {
    let config = HttpConfig {
        url: format!("{scheme}://127.0.0.1:{}/hooks?t=7", receiver.port()),
        ca: ca.map(Identity::ca),
        allow_private: true,
        ..HttpConfig::default()
    };
    HttpPublisher::with_config(config).unwrap()
}

#[tokio::test]
async fn a_receiver_is_trusted_by_its_authority_and_its_name() {
    let identity = Identity::of(&["127.0.0.1"]);
    let trusted = receiver(&identity).await;
    publish(
        &publisher("https", &trusted, Some(&identity)),
        &message("a"),
    )
    .await
    .unwrap();
    assert_eq!(trusted.accepted().len(), 1);
    let stranger = Identity::of(&["127.0.0.1"]);
    for ca in [Some(&stranger), None] {
        let failure = fail(&publisher("https", &trusted, ca), &message("a")).await;
        assert_unavailable(&failure, &["no trusted authority", "ca behind the #"]);
    }
    let other = Identity::of(&["shop.example"]);
    let elsewhere = receiver(&other).await;
    let failure = fail(&publisher("https", &elsewhere, Some(&other)), &message("a")).await;
    assert_unavailable(&failure, &["is for another host"]);
    assert!(elsewhere.seen().is_empty());
}

#[tokio::test]
async fn a_receiver_without_tls_is_not_spoken_to_in_the_clear() {
    let identity = Identity::of(&["127.0.0.1"]);
    let plain = Receiver::start(Rules::default()).await;
    let failure = fail(&publisher("https", &plain, Some(&identity)), &message("a")).await;
    assert_unavailable(&failure, &["speaks no TLS on this port", "write http://"]);
    assert!(plain.seen().is_empty());
}

#[tokio::test]
async fn f3_a_file_of_authorities_that_cannot_be_used_is_named() {
    let identity = Identity::of(&["127.0.0.1"]);
    let receiver = receiver(&identity).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ca.pem");
    let config = HttpConfig {
        url: format!("https://127.0.0.1:{}/hooks", receiver.port()),
        ca: Some(path.clone()),
        allow_private: true,
        ..HttpConfig::default()
    };
    let publisher = HttpPublisher::with_config(config).unwrap();
    let failure = fail(&publisher, &message("a")).await;
    assert_unavailable(&failure, &["correct ca"]);
    std::fs::copy(identity.ca(), &path).unwrap();
    publish(&publisher, &message("a")).await.unwrap();
}
