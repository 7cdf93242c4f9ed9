//! A destination that does not exist is an outage of that destination, named, and ends when somebody makes it (F3).

use outbox_publisher::{PublishError, PublishErrorKind};

use crate::{Fault, PublisherHarness, publisher_scene::Scene};

/// F3: a destination that is not there at the first call.
pub async fn f3_a_missing_destination_is_unavailable_by_name_until_it_appears<
    H: PublisherHarness,
>() {
    if !H::CAPABILITIES.missing {
        return;
    }
    let mut s = Scene::<H>::new().await;
    s.harness.strike(Fault::Missing).await;
    for _ in 0..3 {
        let failure = s.client.fail(&s.client.numbered("k", 1..=2)).await;
        assert_missing(&failure, &s.harness.missing_name());
    }
    s.harness.heal().await;
    s.client.confirm(&s.client.numbered("k", 1..=2)).await;
    s.arrived().await.assert_first("k", 2);
}

/// F3: a destination that is removed while it is published to.
pub async fn f3_a_destination_that_is_removed_is_unavailable_by_name_until_it_is_back<
    H: PublisherHarness,
>() {
    if !H::CAPABILITIES.missing {
        return;
    }
    let mut s = Scene::<H>::new().await;
    s.client.confirm(&s.client.one("old", 1)).await;
    s.harness.strike(Fault::Missing).await;
    // Of several runs in flight only one may have caused what all of them met.
    let calls: Vec<_> = (0..20)
        .map(|n| s.client.spawn_attempt(s.client.one(&format!("key-{n}"), 1)))
        .collect();
    for call in calls {
        let published = call.await.expect("the call does not panic");
        let published = published.expect("it answers before the publish timeout");
        assert_eq!(published.confirmed, 0, "there is no destination");
        crate::publisher_scene::assert_transient(&published.failure.expect("nothing is confirmed"));
    }
    let failure = s.client.fail(&s.client.one("k", 1)).await;
    assert_missing(&failure, &s.harness.missing_name());
    s.harness.heal().await;
    s.client.confirm(&s.client.numbered("k", 1..=3)).await;
    let arrived = s.arrived().await;
    arrived.assert_first("k", 3);
}

#[track_caller]
fn assert_missing(failure: &PublishError, name: &str) {
    assert_eq!(failure.kind, PublishErrorKind::Unavailable, "{failure:?}");
    assert!(
        failure.text.contains(name),
        "the text names what is missing ({name}): {failure}"
    );
}
