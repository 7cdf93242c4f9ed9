//! One message that the broker refuses stops its own run and judges nobody else (O5, F5, B2).

use outbox_message::Message;
use outbox_publisher::PublishErrorKind;

use crate::{
    PublisherHarness,
    publisher_scene::{Client, Scene, everything},
};

/// F1, F5: a message that the broker refuses fails with its kind, alone or at the head of nothing, and does not arrive.
pub async fn f5_a_refused_message_fails_with_its_kind<H: PublisherHarness>() {
    let mut s = Scene::<H>::new().await;
    for kind in H::CAPABILITIES.refusals {
        let refused = s.harness.refused(*kind);
        let failure = s.client.fail(&[refused]).await;
        assert_eq!(failure.kind, *kind, "{failure:?}");
        assert_eq!(s.arrived().await.texts(), [""; 0], "{kind:?}");
    }
    s.client.confirm(&s.client.one("k", 1)).await;
    assert_eq!(s.arrived().await.texts(), ["k:1"]);
}

/// O5, B2: what stands behind a refused message in its run is not given to the broker; what stands before it is confirmed.
pub async fn b2_a_refused_message_stops_its_run<H: PublisherHarness>() {
    for kind in H::CAPABILITIES.refusals {
        let mut s = Scene::<H>::new().await;
        let Some(refused) = keyed(s.harness.refused(*kind)) else {
            continue;
        };
        let mut run = s.client.numbered("k", 1..=2);
        run.push(refused);
        run.extend(s.client.numbered("k", 3..=4));
        let (mut confirmed, mut failure) = (0, None);
        while failure.is_none() {
            let published = s.client.publish(&run[confirmed..]).await;
            confirmed += published.confirmed;
            // A broker that drops the connection over a message may have said nothing about those before it.
            failure = published
                .failure
                .filter(|failure| failure.kind != PublishErrorKind::Interrupted);
            assert!(confirmed <= 2, "the third message is refused");
        }
        let failure = failure.expect("it is there after the loop");
        assert_eq!((confirmed, failure.kind), (2, *kind), "{failure:?}");
        // What would have been sent behind it is there by the time that something later is.
        s.client.confirm(&s.client.one("after", 1)).await;
        let arrived = s.arrived().await;
        assert_eq!(
            arrived.first("k"),
            [1, 2],
            "{kind:?}: what stands behind it was sent"
        );
        s.client.confirm(&run[3..]).await;
        s.arrived().await.assert_first("k", 4);
    }
}

/// F5: while one message is refused, no other is judged: what is in flight beside it is confirmed or given back untried.
pub async fn f5_a_refused_message_judges_only_itself<H: PublisherHarness>() {
    const NEIGHBORS: u64 = 50;
    const ROUNDS: u64 = 4;
    for kind in H::CAPABILITIES.refusals {
        let mut s = Scene::<H>::new().await;
        let tasks: Vec<_> = (0..NEIGHBORS)
            .map(|n| tokio::spawn(neighbor(s.client.clone(), format!("key-{n}"), ROUNDS)))
            .collect();
        let refused = s.harness.refused(*kind);
        for _ in 0..10 {
            let failure = s.client.fail(std::slice::from_ref(&refused)).await;
            let interrupted = failure.kind == PublishErrorKind::Interrupted;
            assert!(failure.kind == *kind || interrupted, "{failure:?}");
        }
        for task in tasks {
            task.await
                .expect("neighbors are confirmed or given back untried");
        }
        let arrived = s.arrived().await;
        for n in 0..NEIGHBORS {
            arrived.assert_first(&format!("key-{n}"), ROUNDS);
        }
    }
}

/// Publishes message after message beside the refused ones. The destination is up all the time, so no failure may say otherwise.
async fn neighbor(client: Client, key: String, rounds: u64) {
    for n in 1..=rounds {
        let message = client.one(&key, n);
        while let Some(failure) = client.publish(&message).await.failure {
            assert_eq!(
                failure.kind,
                PublishErrorKind::Interrupted,
                "it says nothing about this message and nothing about the destination: {failure:?}"
            );
        }
    }
}

/// F5: the text about a refused message shows neither its payload nor the values of its headers.
pub async fn f5_a_refusal_shows_no_payload<H: PublisherHarness>() {
    const SECRET: &str = "header-value-that-is-nobodys-business";
    let s = Scene::<H>::new().await;
    for kind in H::CAPABILITIES.refusals {
        let refused = s.harness.refused(*kind);
        let with_header = refused.clone().with_header("authorization", SECRET);
        let message = with_header.unwrap_or(refused);
        let failure = s.client.fail(std::slice::from_ref(&message)).await;
        let text = everything(&failure);
        assert!(!text.contains(SECRET), "{kind:?} shows a header's value");
        let payload = String::from_utf8_lossy(&message.payload);
        let long_enough = payload.len() >= 8;
        assert!(
            !long_enough || !text.contains(&*payload),
            "{kind:?} shows the payload"
        );
    }
}

/// The message with the key of a run, if it is refused with any key.
fn keyed(refused: Message) -> Option<Message> {
    if refused.key.is_some() {
        return None;
    }
    Some(refused.with_key("k").expect("the key is short"))
}
