//! Notices of deaths: saved with the death that they tell of, or not at all (S16).

use outbox_message::Message;
use outbox_store::{AfterDeath, LaneSettled, OutboxStore, Outcome};

use crate::{
    Harness,
    scene::{Scene, TOPIC, message, numbered, rounds, secs},
    taken::{dead, retry},
};

/// A notice with this payload.
fn notice(payload: &str) -> Message {
    Message::new(format!("{TOPIC}.dlq"), payload.to_owned()).expect("the topic keeps the limits")
}

/// A death with this notice.
fn told(after: AfterDeath, of: Message) -> Outcome {
    let mut outcome = dead(after);
    if let Outcome::Dead { notice, .. } = &mut outcome {
        *notice = Some(Box::new(of));
    }
    outcome
}

/// S16: the notice of a recorded death is handed out like any message, byte for byte as it was given.
pub async fn s16_a_death_saves_its_notice_verbatim<H: Harness>() {
    let s = Scene::<H>::new().await;
    let died = s.save("k", "a").await;
    let given = Message::new("elsewhere.dlq", vec![0, 255, 0, 10])
        .and_then(|it| it.with_key("other"))
        .and_then(|it| it.with_header("b", "1"))
        .and_then(|it| it.with_header("b", "2\n"))
        .and_then(|it| it.with_content_type("text/x"))
        .expect("its parts keep the limits");
    let taken = s.claim().await;
    let outcome = told(AfterDeath::Skip, given.clone());
    s.settle_all(&taken, &[("a", outcome)], &Outcome::Release)
        .await;
    let taken = s.claim().await;
    let noticed: Vec<_> = taken.deliveries().collect();
    assert_eq!(noticed.len(), 1);
    assert_eq!(noticed[0].message, given);
    assert!(noticed[0].position > died);
    assert_eq!((noticed[0].attempts, noticed[0].tries), (0, 0));
    s.publish(&taken).await;
    assert_eq!(s.dead().await.len(), 1);
}

/// S16: a settlement whose answer was lost is sent again, and saves no second notice, whether it gave the lane back or not.
pub async fn s16_a_settlement_sent_again_saves_no_second_notice<H: Harness>() {
    for gives_back in [true, false] {
        let s = Scene::<H>::new().await;
        s.save_run("k", &numbered("m", 2)).await;
        let taken = s.claim().await;
        let mut outcomes = vec![("m1", told(AfterDeath::Skip, notice("n1")))];
        if gives_back {
            outcomes.push(("m2", Outcome::Published));
        }
        let lanes = taken.settlements(&outcomes);
        assert_eq!(s.settle_raw(&lanes).await, [LaneSettled::default()]);
        let again = &s.settle_raw(&lanes).await[0];
        assert_eq!(again.lost, gives_back);
        assert!(again.missed.contains(&taken.of("m1").position));
        if !gives_back {
            s.settle(&taken, &[("m2", Outcome::Published)]).await;
            s.release_lane(&taken).await;
        }
        assert_eq!(s.drain().await, ["n1"]);
        assert_eq!(s.dead().await.len(), 1);
    }
}

/// S16: who lost the lease buries nothing, and so tells of nothing.
pub async fn s16_a_stale_token_saves_no_notice<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let late = s.claim().await;
    s.crash(late.clone()).await;
    let next = s.claim().await;
    let outcomes = [("a", told(AfterDeath::Skip, notice("late")))];
    let settled = s.settle(&late, &outcomes).await;
    assert!(settled[0].lost);
    s.publish(&next).await;
    assert!(s.drain().await.is_empty());
    assert!(s.dead().await.is_empty());
    s.assert_empty_after_claim().await;
}

/// S16: an outcome that does not apply any more saves nothing, while the other one of its settlement does.
pub async fn s16_an_outcome_that_is_missed_saves_no_notice<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 2)).await;
    let taken = s.claim().await;
    let mut lanes = taken.settlements(&[
        ("m1", told(AfterDeath::Skip, notice("n1"))),
        ("m2", told(AfterDeath::Skip, notice("n2"))),
    ]);
    lanes[0].outcomes[0].target.tries += 1;
    let settled = s.settle_raw(&lanes).await;
    assert_eq!(settled[0].missed, [taken.of("m1").position]);
    let out = s.drain().await;
    assert_eq!((out.len(), s.dead().await.len()), (2, 1));
    assert!(out.contains(&"m1".to_owned()) && out.contains(&"n2".to_owned()));
}

/// S16, O9: a death that holds its key tells of itself all the same, and the notice does not wait for the key that is held.
pub async fn s16_a_notice_goes_out_while_its_death_holds_the_key<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 3)).await;
    let taken = s.claim().await;
    let told = told(
        AfterDeath::Hold,
        notice("n1").with_key("k").expect("it is a key"),
    );
    s.settle_all(&taken, &[("m1", told)], &Outcome::Release)
        .await;
    assert_eq!(s.drain().await, ["n1"]);
    let status = s.status().await;
    assert_eq!((status.dead, status.blocked, status.held), (1, 1, 2));
    s.redrive().await;
    assert_eq!(s.drain().await, numbered("m", 3));
    s.assert_empty().await;
}

/// S16: a message that waited for its retry when it died tells of itself like any other.
pub async fn s16_a_head_that_dies_after_waiting_saves_its_notice<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 2)).await;
    let taken = s.claim().await;
    s.settle_all(&taken, &[("m1", retry(10))], &Outcome::Release)
        .await;
    s.advance(secs(11)).await;
    let taken = s.claim_until("m1").await;
    let told = told(AfterDeath::Skip, notice("n1"));
    s.settle_all(&taken, &[("m1", told)], &Outcome::Release)
        .await;
    let mut out = s.drain().await;
    out.sort_unstable();
    assert_eq!(out, ["m2", "n1"]);
}

/// S16: redriven and dead again, a message has died twice.
pub async fn s16_each_death_of_a_redriven_message_has_its_notice<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    for n in ["n1", "n2"] {
        let taken = s.claim_until("a").await;
        let told = told(AfterDeath::Skip, notice(n));
        s.settle_all(&taken, &[("a", told)], &Outcome::Release)
            .await;
        assert_eq!(s.drain().await, [n]);
        s.redrive().await;
    }
    assert_eq!(s.drain().await, ["a"]);
    s.assert_empty().await;
}

/// S16, W5: of one settlement over many lanes every death has its notice; those of one ordering key keep the order of the deaths.
pub async fn s16_many_deaths_of_a_settlement_each_have_their_notice<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 20)).await;
    for key in s.keys_apart() {
        s.put(&message(key.as_str(), format!("of {key}"))).await;
    }
    let all = 20 + usize::from(s.store().lanes().get());
    let mut died = 0;
    for () in rounds() {
        if died == all {
            break;
        }
        // Notices are given back, so that all of them are seen in one drain.
        let taken = s.claim().await;
        let payloads = taken.payloads();
        let alive = payloads.iter().filter(|it| !it.starts_with("about "));
        let outcomes: Vec<_> = alive
            .map(|payload| {
                let of = notice(&format!("about {payload}")).with_key("n");
                let outcome = told(AfterDeath::Skip, of.expect("it is a key"));
                (payload.as_str(), outcome)
            })
            .collect();
        s.settle_all(&taken, &outcomes, &Outcome::Release).await;
        died += outcomes.len();
    }
    let out = s.drain().await;
    let of_run: Vec<_> = out.iter().filter(|it| it.starts_with("about m")).collect();
    let expected: Vec<_> = numbered("about m", 20);
    assert_eq!(of_run, expected.iter().collect::<Vec<_>>());
    assert_eq!(out.len(), all);
}
