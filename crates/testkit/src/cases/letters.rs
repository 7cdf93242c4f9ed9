//! Dead letters as operators see them: what they show, which of them a filter chooses, page by page (case 22).

use outbox_message::MessageId;
use outbox_store::{
    AfterDeath, DeadFilter, DeadPage, DeadPayload, DeathReason, OutboxOperator, Outcome,
};

use crate::{
    Harness,
    scene::{Scene, all_dead, message, numbered, rounds, secs},
    taken::dead,
};

/// A dead letter shows all that was saved, and why it died.
pub async fn f7_a_dead_letter_shows_what_was_saved_and_why_it_died<H: Harness>() {
    let s = Scene::<H>::new().await;
    let original = message("k", vec![0, 0xFF, b'a'])
        .with_header("b", "1")
        .and_then(|m| m.with_header("b", "2"))
        .and_then(|m| m.with_content_type("text/plain"))
        .expect("the parts keep the limits");
    let before = s.harness.now_ms().await;
    let position = s.put(&original).await;
    let taken = s.claim().await;
    s.settle_all(&taken, &[], &dead(AfterDeath::Hold)).await;
    let letters = s.dead().await;
    let letter = &letters[0];
    assert_eq!(letters.len(), 1);
    assert_eq!(letter.position, position);
    assert_eq!(letter.id, original.id.as_str());
    assert_eq!(letter.topic, original.topic.as_str());
    assert_eq!(letter.key.as_deref(), Some("k"));
    assert_eq!(letter.headers, r#"[["b","1"],["b","2"]]"#);
    assert_eq!(letter.content_type.as_deref(), Some("text/plain"));
    assert_eq!(letter.payload.as_deref(), Some(&[0, 0xFF, b'a'][..]));
    assert_eq!(letter.payload_len, 3);
    assert_eq!((letter.attempts, letter.tries), (1, 1));
    assert_eq!(
        (letter.reason.as_str(), letter.error.as_str()),
        ("exhausted", "refused for good")
    );
    assert_eq!(letter.after, AfterDeath::Hold);
    assert!(letter.saved_at_ms >= before && letter.died_at_ms >= letter.saved_at_ms);
    let omitted = s
        .store()
        .dead_letters(&all_dead(), DeadPayload::Omit)
        .await
        .expect("the store lists");
    assert_eq!((&omitted[0].payload, omitted[0].payload_len), (&None, 3));
}

/// Case 22: redrive goes in bounded pages, counts first, meets each letter once, and doing it again does nothing.
pub async fn case22_redrive_goes_in_bounded_pages_once<H: Harness>() {
    let s = Scene::<H>::new().await;
    for n in 0..25 {
        s.save(&format!("k{n}"), "x").await;
    }
    for () in rounds() {
        let taken = s.claim().await;
        if taken.is_empty() {
            break;
        }
        s.settle_all(&taken, &[], &dead(AfterDeath::Skip)).await;
    }
    let filter = DeadFilter::default();
    let counted = s.store().count_dead(&filter).await.expect("it counts");
    let (count, last) = counted;
    assert_eq!(count, 25);
    assert_eq!(s.status().await.dead, 25, "counting changes nothing");
    let mut page = DeadPage {
        filter: filter.clone(),
        after: None,
        upto: last,
        limit: 10,
    };
    let mut counts = Vec::new();
    for () in rounds() {
        let stepped = s.store().redrive(&page).await.expect("it redrives");
        let Some(reached) = stepped.last else { break };
        counts.push(stepped.count);
        page.after = Some(reached);
    }
    assert_eq!(counts, [10, 10, 5]);
    page.after = None;
    let again = s.store().redrive(&page).await.expect("it redrives");
    assert_eq!(again.count, 0);
    assert_eq!(
        s.store().count_dead(&filter).await.expect("it counts"),
        (0, None)
    );
    assert_eq!(s.drain().await.len(), 25);
}

/// What dies again while a redrive walks its pages is not met by it.
pub async fn case22_a_walk_does_not_meet_what_died_meanwhile<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    s.save("k", "b").await;
    s.kill("a", AfterDeath::Skip).await;
    let filter = DeadFilter::default();
    let (_, upto) = s.store().count_dead(&filter).await.expect("it counts");
    s.kill("b", AfterDeath::Skip).await;
    let page = DeadPage {
        filter,
        after: None,
        upto,
        limit: 10,
    };
    assert_eq!(
        s.store().redrive(&page).await.expect("it redrives").count,
        1
    );
    assert_eq!(s.drain().await, ["a"]);
    assert_eq!(s.status().await.dead, 1);
}

/// Filters by id, topic and key choose alike for counting, listing, redriving and discarding.
pub async fn case22_filters_choose_letters<H: Harness>() {
    let s = Scene::<H>::new().await;
    let other = outbox_message::Message::new("other", "c")
        .and_then(|m| m.with_key("k"))
        .and_then(|m| m.with_id("the-id"))
        .expect("the parts keep the limits");
    s.save("k", "a").await;
    s.save("l", "b").await;
    s.put(&other).await;
    for payload in ["a", "b", "c"] {
        s.kill(payload, AfterDeath::Skip).await;
    }
    let filters = [
        (
            DeadFilter {
                topic: Some("other".into()),
                ..DeadFilter::default()
            },
            vec!["c"],
        ),
        (
            DeadFilter {
                key: Some("k".into()),
                ..DeadFilter::default()
            },
            vec!["a", "c"],
        ),
        (
            DeadFilter {
                topic: Some("orders".into()),
                key: Some("k".into()),
                ..DeadFilter::default()
            },
            vec!["a"],
        ),
        (
            DeadFilter {
                id: MessageId::new("the-id").ok(),
                ..DeadFilter::default()
            },
            vec!["c"],
        ),
        (
            DeadFilter {
                topic: Some("none".into()),
                ..DeadFilter::default()
            },
            vec![],
        ),
    ];
    for (filter, expected) in filters {
        let (count, last) = s.store().count_dead(&filter).await.expect("it counts");
        let page = DeadPage {
            filter,
            ..all_dead()
        };
        let letters = s
            .store()
            .dead_letters(&page, DeadPayload::Include)
            .await
            .expect("it lists");
        let payloads: Vec<_> = letters.iter().filter_map(|l| l.payload.clone()).collect();
        assert_eq!(
            payloads,
            expected.iter().map(|p| p.as_bytes()).collect::<Vec<_>>()
        );
        assert_eq!(count, u64::try_from(expected.len()).expect("it is small"));
        assert_eq!(last, letters.last().map(|l| l.position));
    }
    let key_k = DeadPage {
        filter: DeadFilter {
            key: Some("k".into()),
            ..DeadFilter::default()
        },
        ..all_dead()
    };
    assert_eq!(
        s.store().discard(&key_k).await.expect("it discards").count,
        2
    );
    assert_eq!(s.redrive().await.count, 1);
    assert_eq!(s.drain().await, ["b"]);
    s.assert_empty().await;
}

/// O9: the policy in force at the death counts, letter by letter.
pub async fn o9_each_letter_keeps_its_own_policy<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    s.save_run(&keys[0], &numbered("a", 2)).await;
    s.save_run(&keys[1], &numbered("b", 2)).await;
    let taken = s.claim().await;
    s.settle_all(
        &taken,
        &[
            ("a1", dead(AfterDeath::Hold)),
            ("b1", dead(AfterDeath::Skip)),
        ],
        &Outcome::Release,
    )
    .await;
    assert_eq!(s.drain().await, ["b2"]);
    let letters = s.dead().await;
    assert_eq!(
        [letters[0].after, letters[1].after],
        [AfterDeath::Hold, AfterDeath::Skip]
    );
}

/// Case 22: letters are chosen by why and by how long ago they died, beside what is in them.
pub async fn case22_letters_are_chosen_by_reason_and_age<H: Harness>() {
    let s = Scene::<H>::new().await;
    for payload in ["a", "b", "c"] {
        s.save("k", payload).await;
    }
    let taken = s.claim().await;
    let exhausted = dead(AfterDeath::Skip);
    let mut permanent = exhausted.clone();
    if let Outcome::Dead { reason, .. } = &mut permanent {
        *reason = DeathReason::Permanent;
    }
    let outcomes = [("a", exhausted.clone()), ("b", permanent)];
    s.settle_all(&taken, &outcomes, &Outcome::Release).await;
    s.advance(secs(100)).await;
    let taken = s.claim().await;
    s.settle_all(&taken, &[], &exhausted).await;
    let count = async |reason, older_than| {
        let filter = DeadFilter {
            reason,
            older_than,
            key: Some("k".to_owned()),
            ..DeadFilter::default()
        };
        let page = DeadPage {
            filter: filter.clone(),
            ..all_dead()
        };
        let listed = s.store().dead_letters(&page, DeadPayload::Omit).await;
        let counted = s.store().count_dead(&filter).await;
        let counted = counted.expect("the store counts").0;
        let listed = listed.expect("the store lists").len();
        assert_eq!(u64::try_from(listed), Ok(counted));
        counted
    };
    assert_eq!(count(None, None).await, 3);
    assert_eq!(count(Some(DeathReason::Permanent), None).await, 1);
    assert_eq!(count(Some(DeathReason::Exhausted), None).await, 2);
    assert_eq!(count(Some(DeathReason::Poison), None).await, 0);
    assert_eq!(count(None, Some(secs(50))).await, 2);
    assert_eq!(count(Some(DeathReason::Exhausted), Some(secs(50))).await, 1);
    let page = DeadPage {
        filter: DeadFilter {
            reason: Some(DeathReason::Exhausted),
            older_than: Some(secs(50)),
            ..DeadFilter::default()
        },
        ..all_dead()
    };
    let stepped = s.store().redrive(&page).await.expect("the store redrives");
    assert_eq!(stepped.count, 1);
    assert_eq!(s.drain().await, ["a"]);
}
