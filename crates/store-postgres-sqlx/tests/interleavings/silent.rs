//! A relay that falls silent in the middle of a transaction: frozen, or on a machine that is gone. Its locks stay for a while, and stop nobody else (O7).

use crate::{
    paused::Point,
    scene::{Scene, keys_apart},
};

/// The lane whose holder vanished comes first in time, is to be served alone, and is locked by the one that fell silent.
#[tokio::test]
async fn o7_a_lapsed_lane_that_a_silent_relay_locks_stops_no_other_lane() {
    let s = Scene::new().await;
    let (a, b) = (s.relay("a"), s.relay("b"));
    let keys = keys_apart(20);
    s.save(&keys[0], "first").await;
    let taken = a.claim_lane_of(&keys[0]).await;
    s.lapse().await;
    let held = a.hold(Point::Commit, a.extending(taken.tokens())).await;
    for round in 0..10 {
        for key in &keys {
            s.save(key, "more").await;
        }
        let other = b.claim().await;
        assert!(!other.is_empty(), "round {round}");
        b.publish(&other).await;
    }
    held.go().await;
    s.check().await;
}
