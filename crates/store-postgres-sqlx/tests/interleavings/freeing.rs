//! What an ended stop set aside is freed, against claims, new stops, others that free, and sessions that are silent (S15).

use sqlx::Executor;

use crate::{
    paused::Point,
    relay::retry,
    scene::{Scene, TOPIC, keys_apart, keys_beside, secs},
    stops::{assert_over, stopped},
};

/// At each point of freeing the topic is stopped anew, a claim sets aside, also in lanes that were freed, and the stop ends again; or it goes on.
#[tokio::test]
async fn s15_a_stop_anew_at_any_point_of_freeing_is_whole() {
    for goes_on in [true, false] {
        // The steps of all lanes but the first and the last ones are alike.
        for step in (0..12).chain(28..) {
            let s = stopped().await;
            let (relay, again, frees) = (s.relay("a"), s.relay("again"), s.relay("frees"));
            relay.set_aside().await;
            relay.ending(&[TOPIC]).await;
            let held = frees.try_hold(Point::Step(step), frees.freeing()).await;
            let Ok(held) = held else {
                assert!(step > 30, "freeing has more steps than {step}");
                break;
            };
            for key in ["k", &keys_beside("k", 1)[0], &keys_apart(64)[63]] {
                let name = match key {
                    "k" => "k",
                    key if key.starts_with("beside") => "beside",
                    _ => "far",
                };
                s.save(key, &format!("{name}4")).await;
            }
            let (stop, end) = (again.stopping(&[TOPIC]), again.ending(&[TOPIC]));
            let claim = again.claiming(again.ask());
            let meanwhile = async move {
                stop.await;
                let taken = claim.await;
                if !goes_on {
                    end.await;
                }
                taken
            };
            let meanwhile = again.begin(&s, meanwhile).await;
            held.go().await;
            let taken = meanwhile.await.unwrap();
            assert!(taken.is_empty(), "{:?}", taken.payloads());
            s.check().await;
            if goes_on {
                frees.freeing().await;
                relay.set_aside().await;
                s.check().await;
            }
            assert_over(&s, &relay, Vec::new(), 4).await;
        }
    }
}

/// A claim at each point of freeing takes what was freed, keeps the order, and waits for nobody.
#[tokio::test]
async fn s15_a_claim_at_any_point_of_freeing_takes_each_key_whole() {
    for step in (0..12).chain(28..) {
        let s = stopped().await;
        let (relay, frees) = (s.relay("a"), s.relay("frees"));
        relay.set_aside().await;
        relay.ending(&[TOPIC]).await;
        let held = frees.try_hold(Point::Step(step), frees.freeing()).await;
        let Ok(held) = held else {
            assert!(step > 30, "freeing has more steps than {step}");
            return;
        };
        let taken = relay.claim().await;
        let mut out = taken.payloads();
        relay.publish(&taken).await;
        held.go().await;
        s.check().await;
        out.extend(relay.drain().await);
        assert_over(&s, &relay, out, 3).await;
    }
}

#[tokio::test]
async fn two_that_free_at_once_free_each_row_once_and_come_to_an_end() {
    let s = stopped().await;
    let (relay, one, two) = (s.relay("a"), s.relay("one"), s.relay("two"));
    relay.set_aside().await;
    relay.ending(&[TOPIC]).await;
    let held = one.hold(Point::After("free_lanes"), one.freeing()).await;
    let waiting = two.wait(&s, two.freeing()).await;
    let freed = held.go().await + waiting.await.unwrap();
    // Three keys, three messages without one, and the stop itself.
    assert_eq!(freed, 3 + 3 + 1);
    assert_eq!((one.conflicts(), two.conflicts()), (0, 0));
    assert_over(&s, &relay, Vec::new(), 3).await;
}

/// Whoever has locked lanes waits for no row of the table of stops, and claims only read it.
#[tokio::test]
async fn a_session_that_is_silent_about_a_stop_keeps_no_lane() {
    let s = stopped().await;
    let (relay, other) = (s.relay("a"), s.relay("other"));
    relay.set_aside().await;
    s.save_other("k", "other").await;
    let mut silent = s.begin().await;
    let lock = s.sql("SELECT 1 FROM outbox.topic_state FOR UPDATE");
    silent.execute(lock).await.unwrap();
    // It found one, and cannot say so.
    assert!(other.probing().await);
    assert_eq!(relay.drain().await, ["other"]);
    assert_eq!(other.freeing().await, 0, "it is stopped");
    silent.rollback().await.unwrap();
    relay.ending(&[TOPIC]).await;
    let mut silent = s.begin().await;
    let lock = s.sql("SELECT 1 FROM outbox.topic_state FOR UPDATE");
    silent.execute(lock).await.unwrap();
    other.freeing().await;
    let noted = "SELECT count(*) FROM outbox.topic_state WHERE freed > 0";
    assert_eq!(s.count(noted).await, 0);
    silent.rollback().await.unwrap();
    assert_over(&s, &relay, Vec::new(), 3).await;
}

/// The clock of the stop, and that of its messages, are apart: what is scheduled keeps its time.
#[tokio::test]
async fn s15_freeing_leaves_schedules_and_retries_alone() {
    let s = Scene::new().await;
    let relay = s.relay("a");
    s.save("k", "k1").await;
    let taken = relay.claim().await;
    relay.settle_whole(&taken, &[], &retry(60)).await;
    s.schedule("other", "later", secs(60)).await;
    relay.stopping(&[TOPIC]).await;
    relay.set_aside().await;
    assert!(relay.end_and_drain().await.is_empty());
    s.pass(secs(61)).await;
    assert_eq!(relay.drain().await.len(), 2);
    s.check_empty().await;
}
