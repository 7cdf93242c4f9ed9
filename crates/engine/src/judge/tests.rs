//! Each rule of failure on the pure function that decides it.

use super::*;

const ALONE: Circumstances = Circumstances {
    run: 1,
    attempts: 0,
    probe: false,
    confirmed_since: false,
    sample: Sample::HALF,
};

fn config() -> RelayConfig {
    RelayConfig::default()
}

fn failed(kind: PublishErrorKind) -> End {
    End::Answered(Published::failed(0, PublishError::new(kind, "no")))
}

fn outcome(end: End, about: &Circumstances) -> Outcome {
    judge(end, about, &config()).failure.expect("a failure").1
}

fn retried(after_ms: u64, counted: bool) -> Outcome {
    Outcome::Retry {
        after: Some(Duration::from_millis(after_ms)),
        counted,
        error: "no".into(),
    }
}

#[test]
fn d1_only_what_the_publisher_confirmed_is_published() {
    let about = Circumstances { run: 3, ..ALONE };
    let judged = judge(
        End::Answered(Published {
            confirmed: 3,
            failure: None,
        }),
        &about,
        &config(),
    );
    assert_eq!((judged.confirmed, judged.failure), (3, None));
    let judged = judge(
        End::Answered(Published {
            confirmed: 2,
            failure: None,
        }),
        &about,
        &config(),
    );
    assert_eq!(judged.confirmed, 2);
    let Some((
        Verdict::Retry,
        Outcome::Retry {
            counted: true,
            error,
            ..
        },
    )) = judged.failure
    else {
        panic!("an unexplained failure counts");
    };
    assert_eq!(
        error,
        "the publisher confirmed 2 of 3 messages and named no failure"
    );
    let judged = judge(End::Abandoned, &about, &config());
    assert_eq!((judged.confirmed, judged.failure), (0, None));
}

#[test]
fn f1_a_refusal_counts_and_backs_off_by_the_attempts_before_it() {
    assert_eq!(
        outcome(failed(PublishErrorKind::Rejected), &ALONE),
        retried(7_500, true)
    );
    let third = Circumstances {
        attempts: 2,
        ..ALONE
    };
    assert_eq!(
        outcome(failed(PublishErrorKind::Unknown), &third),
        retried(30_000, true)
    );
    assert_eq!(
        outcome(failed(PublishErrorKind::Unroutable), &ALONE),
        retried(7_500, true)
    );
}

#[test]
fn f1_the_last_attempt_is_a_death() {
    let last = Circumstances {
        attempts: 5,
        ..ALONE
    };
    let Outcome::Dead { reason, .. } = outcome(failed(PublishErrorKind::Rejected), &last) else {
        panic!("the limit is reached");
    };
    assert_eq!(reason, DeathReason::Exhausted);
    let far_over = Circumstances {
        attempts: u32::MAX,
        ..ALONE
    };
    assert!(matches!(
        outcome(failed(PublishErrorKind::Rejected), &far_over),
        Outcome::Dead { .. }
    ));
}

#[test]
fn f1_a_timeout_counts_only_while_the_destination_confirms_others() {
    let silent = judge(End::TimedOut, &ALONE, &config());
    assert!(silent.unavailable.is_some());
    assert!(matches!(
        silent.failure,
        Some((_, Outcome::Retry { counted: false, .. }))
    ));
    let confirming = Circumstances {
        confirmed_since: true,
        ..ALONE
    };
    let judged = judge(End::TimedOut, &confirming, &config());
    assert!(judged.unavailable.is_none());
    assert!(matches!(
        judged.failure,
        Some((_, Outcome::Retry { counted: true, .. }))
    ));
}

#[test]
fn f1_a_failure_of_a_long_run_without_a_name_is_tried_again_alone_uncounted() {
    let about = Circumstances {
        run: 5,
        confirmed_since: true,
        ..ALONE
    };
    for end in [End::TimedOut, End::Panicked("boom".into())] {
        assert!(matches!(
            outcome(end, &about),
            Outcome::Retry { counted: false, .. }
        ));
    }
    let alone = outcome(End::Panicked("boom".into()), &ALONE);
    assert!(matches!(alone, Outcome::Retry { counted: true, .. }));
}

#[test]
fn f3_an_unavailable_destination_costs_no_attempt_and_a_probe_gives_its_message_back() {
    let about = Circumstances {
        attempts: 5,
        ..ALONE
    };
    for kind in [PublishErrorKind::Unavailable, PublishErrorKind::Throttled] {
        assert_eq!(outcome(failed(kind), &about), retried(1_000, false));
        let probe = judge(
            failed(kind),
            &Circumstances {
                probe: true,
                ..ALONE
            },
            &config(),
        );
        assert_eq!(probe.failure, Some((Verdict::Release, Outcome::Release)));
        assert_eq!(
            probe.unavailable,
            Some((Duration::from_secs(1), "no".into()))
        );
    }
}

#[test]
fn f3_a_probe_that_timed_out_waits_uncounted_so_that_the_next_meets_another_key() {
    let probe = Circumstances {
        probe: true,
        ..ALONE
    };
    assert!(matches!(
        outcome(End::TimedOut, &probe),
        Outcome::Retry { counted: false, after: Some(after), .. } if after == Duration::from_secs(1)
    ));
}

#[test]
fn f4_an_explicit_time_is_obeyed_capped_and_does_not_change_whether_it_counts() {
    let after = |kind, secs| {
        let error = PublishError::new(kind, "no").with_retry_after(Duration::from_secs(secs));
        End::Answered(Published::failed(0, error))
    };
    assert_eq!(
        outcome(after(PublishErrorKind::Rejected, 3), &ALONE),
        retried(3_000, true)
    );
    assert_eq!(
        outcome(after(PublishErrorKind::Throttled, 3), &ALONE),
        retried(3_000, false)
    );
    assert_eq!(
        outcome(after(PublishErrorKind::Rejected, 0), &ALONE),
        retried(0, true)
    );
    let week = 7 * 24 * 3600;
    assert_eq!(
        outcome(after(PublishErrorKind::Rejected, week * 9), &ALONE),
        retried(week * 1000, true)
    );
    let last = Circumstances {
        attempts: 5,
        ..ALONE
    };
    assert!(matches!(
        outcome(after(PublishErrorKind::Rejected, 3), &last),
        Outcome::Dead { .. }
    ));
}

#[test]
fn f5_what_no_retry_heals_is_dead_at_once_and_what_says_nothing_is_released() {
    for kind in [PublishErrorKind::TooLarge, PublishErrorKind::Malformed] {
        let Outcome::Dead { reason, .. } = outcome(failed(kind), &ALONE) else {
            panic!("{kind:?} is permanent");
        };
        assert_eq!(reason, DeathReason::Permanent);
    }
    let judged = judge(failed(PublishErrorKind::Interrupted), &ALONE, &config());
    assert_eq!(judged.failure, Some((Verdict::Release, Outcome::Release)));
    assert!(judged.interrupted && judged.unavailable.is_none());
}

#[test]
fn f4_o7_what_says_nothing_but_a_time_waits_alone_and_uncounted() {
    let error = PublishError::new(PublishErrorKind::Interrupted, "later");
    let error = error.with_retry_after(Duration::from_secs(7));
    let later = End::Answered(Published::failed(0, error));
    let judged = judge(later, &ALONE, &config());
    let Some((_, Outcome::Retry { after, counted, .. })) = judged.failure else {
        panic!("it waits");
    };
    assert_eq!((after, counted), (Some(Duration::from_secs(7)), false));
    assert!(!judged.interrupted && judged.unavailable.is_none());
}

#[test]
fn o9_a_death_carries_the_policy_of_the_relay() {
    let hold = RelayConfig {
        after_death: AfterDeath::Hold,
        ..config()
    };
    let judged = judge(failed(PublishErrorKind::TooLarge), &ALONE, &hold);
    let Some((verdict, Outcome::Dead { after, .. })) = judged.failure else {
        panic!("too large is permanent");
    };
    assert_eq!(
        (verdict, after),
        (Verdict::Dead(Policy::Hold), AfterDeath::Hold)
    );
}

#[test]
fn an_error_names_its_causes_once() {
    let error = PublishError::new(PublishErrorKind::Rejected, "refused")
        .with_source(std::io::Error::other("disk full"));
    assert_eq!(describe(&error), "refused: disk full");
    let error = PublishError::new(PublishErrorKind::Rejected, "refused: disk full")
        .with_source(std::io::Error::other("disk full"));
    assert_eq!(describe(&error), "refused: disk full");
}
