//! Tests of the policies: each formula at known points, its extremes, and what holds for every input.

use proptest::prelude::*;

use super::*;

const YEAR: Duration = Backoff::MAX_DELAY;

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn f2_the_default_is_exponential_from_ten_seconds_to_an_hour() {
    let backoff = Backoff::default();
    assert_eq!(
        Ok(&backoff),
        Backoff::exponential(secs(10), secs(3600)).as_ref()
    );
    for (attempts, longest) in [(0, 10), (1, 20), (4, 160), (8, 2560), (9, 3600), (40, 3600)] {
        let longest = secs(longest);
        assert_eq!(backoff.bounds(attempts), longest / 2..=longest);
        assert_eq!(backoff.delay(attempts, Sample::ZERO), longest / 2);
        assert_eq!(backoff.delay(attempts, Sample::HALF), longest * 3 / 4);
    }
}

#[test]
fn f2_the_default_budget_of_six_attempts_is_spent_between_155_and_310_seconds() {
    let backoff = Backoff::default();
    // The sixth failure is the death, so five delays are waited for.
    let budget = |sample| {
        (0..5)
            .map(|attempts| backoff.delay(attempts, sample))
            .sum::<Duration>()
    };
    assert_eq!(budget(Sample::ZERO), secs(155));
    assert!(budget(Sample::LARGEST) > secs(309));
    assert!(budget(Sample::LARGEST) <= secs(310));
}

#[test]
fn f2_full_jitter_reaches_down_to_nothing() {
    let backoff = Backoff::full_jitter(secs(10), secs(3600)).unwrap();
    assert_eq!(backoff.bounds(2), secs(0)..=secs(40));
    assert_eq!(backoff.delay(2, Sample::HALF), secs(20));
    assert_eq!(backoff.bounds(30), secs(0)..=secs(3600));
}

#[test]
fn f2_decorrelated_jitter_stays_between_its_base_and_three_times_the_last_reach() {
    let backoff = Backoff::decorrelated_jitter(secs(10), secs(3600)).unwrap();
    assert_eq!(backoff.bounds(0), secs(10)..=secs(30));
    assert_eq!(backoff.bounds(1), secs(10)..=secs(90));
    assert_eq!(backoff.delay(1, Sample::HALF), secs(50));
    assert_eq!(backoff.bounds(6), secs(10)..=secs(3600));
    assert_eq!(backoff.bounds(u32::MAX), secs(10)..=secs(3600));
}

#[test]
fn f2_linear_grows_by_its_step_up_to_its_cap() {
    let backoff = Backoff::linear(Backoff::LINEAR_STEP, Backoff::LINEAR_CAP).unwrap();
    let delay = |attempts| backoff.delay(attempts, Sample::LARGEST);
    assert_eq!(delay(0), Duration::from_millis(50));
    assert_eq!(delay(1), Duration::from_millis(100));
    assert_eq!(delay(99), secs(5));
    assert_eq!(delay(100), secs(5));
    assert_eq!(delay(u32::MAX), secs(5));
}

#[test]
fn f2_geometric_grows_by_its_multiplier_up_to_its_cap() {
    let three = Multiplier::new(3.0).unwrap();
    let backoff = Backoff::geometric(Duration::from_millis(500), three, secs(5)).unwrap();
    let delays: Vec<_> = (0..4)
        .map(|attempts| backoff.delay(attempts, Sample::HALF))
        .collect();
    let millis = [500, 1500, 4500, 5000].map(Duration::from_millis);
    assert_eq!(delays, millis);
    assert_eq!(backoff.delay(u32::MAX, Sample::ZERO), secs(5));

    let one = Multiplier::new(1.0).unwrap();
    let constant = Backoff::geometric(Duration::from_millis(100), one, Duration::MAX).unwrap();
    assert_eq!(
        constant.delay(u32::MAX, Sample::ZERO),
        Duration::from_millis(100)
    );

    let jitter = Backoff::geometric_full_jitter(secs(1), Multiplier::TWO, Duration::MAX).unwrap();
    assert_eq!(jitter.bounds(3), secs(0)..=secs(8));
    assert_eq!(jitter.delay(3, Sample::HALF), secs(4));
    assert_eq!(jitter.bounds(u32::MAX), secs(0)..=YEAR);
}

#[test]
fn f2_fixed_and_list_answer_what_they_were_given() {
    let fixed = Backoff::fixed(secs(7));
    assert_eq!(fixed.delay(0, Sample::LARGEST), secs(7));
    assert_eq!(fixed.delay(u32::MAX, Sample::ZERO), secs(7));

    let list = Backoff::list([secs(1), secs(5), secs(2)]).unwrap();
    let delays: Vec<_> = (0..5)
        .map(|attempts| list.delay(attempts, Sample::HALF))
        .collect();
    assert_eq!(delays, [secs(1), secs(5), secs(2), secs(2), secs(2)]);
    assert_eq!(list.delay(u32::MAX, Sample::ZERO), secs(2));
}

#[test]
fn f2_a_base_of_zero_is_due_at_once_for_ever() {
    let policies = [
        Backoff::exponential(secs(0), secs(3600)).unwrap(),
        Backoff::full_jitter(secs(0), secs(3600)).unwrap(),
        Backoff::decorrelated_jitter(secs(0), secs(3600)).unwrap(),
        Backoff::geometric(secs(0), Multiplier::TWO, Duration::MAX).unwrap(),
        Backoff::linear(secs(0), secs(0)).unwrap(),
        Backoff::fixed(secs(0)),
    ];
    for backoff in policies {
        for attempts in [0, 1, 200, u32::MAX] {
            assert_eq!(
                backoff.delay(attempts, Sample::LARGEST),
                secs(0),
                "{backoff}"
            );
        }
    }
}

/// Case 21: the largest number of attempts and the extremes of base and cap.
#[test]
fn f2_case_21_delays_saturate_at_extreme_attempts_bases_and_caps() {
    let nano = Duration::from_nanos(1);
    let extremes = [nano, secs(10), YEAR, Duration::MAX];
    for base in extremes {
        for cap in extremes.into_iter().filter(|cap| *cap >= base) {
            let reach = cap.min(YEAR);
            let equal = Backoff::exponential(base, cap).unwrap();
            let decorrelated = Backoff::decorrelated_jitter(base, cap).unwrap();
            for attempts in [200, u32::MAX] {
                assert_eq!(
                    equal.bounds(attempts),
                    reach.saturating_sub(reach / 2)..=reach
                );
                assert_eq!(decorrelated.bounds(attempts), base.min(YEAR)..=reach);
            }
            // No policy whose lower bound is above zero answers zero, at any number of attempts.
            for attempts in (0..=200).chain([u32::MAX]) {
                assert!(equal.delay(attempts, Sample::ZERO) > Duration::ZERO);
                assert!(decorrelated.delay(attempts, Sample::ZERO) > Duration::ZERO);
            }
        }
    }
    // A small base still grows past the range of a 32-bit factor.
    let slow = Backoff::exponential(nano, secs(3600)).unwrap();
    assert_eq!(*slow.bounds(40).end(), Duration::from_nanos(1 << 40));
    let linear = Backoff::linear(secs(10), Duration::MAX).unwrap();
    assert_eq!(linear.delay(u32::MAX, Sample::ZERO), YEAR);
    assert_eq!(Backoff::fixed(Duration::MAX).delay(0, Sample::ZERO), YEAR);
    assert_eq!(
        Backoff::list([Duration::MAX])
            .unwrap()
            .delay(9, Sample::ZERO),
        YEAR
    );
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    let (base, cap) = (secs(11), secs(10));
    let above = Err(InvalidBackoff::BaseAboveCap { base, cap });
    assert_eq!(Backoff::exponential(base, cap), above);
    assert_eq!(Backoff::full_jitter(base, cap), above);
    assert_eq!(Backoff::decorrelated_jitter(base, cap), above);
    assert_eq!(Backoff::geometric(base, Multiplier::TWO, cap), above);
    assert_eq!(
        Backoff::geometric_full_jitter(base, Multiplier::TWO, cap),
        above
    );
    let above = Err(InvalidBackoff::StepAboveCap { step: base, cap });
    assert_eq!(Backoff::linear(base, cap), above);
    assert_eq!(Backoff::list([]), Err(InvalidBackoff::NoDelays));
}

#[test]
fn a_policy_names_itself_and_its_settings() {
    assert_eq!(
        Backoff::default().to_string(),
        "exponential with equal jitter, base 10s, cap 3600s"
    );
    assert_eq!(
        Backoff::list([secs(1), secs(2)]).unwrap().to_string(),
        "list, [1s, 2s]"
    );
    let half = Multiplier::new(1.5).unwrap();
    assert_eq!(
        Backoff::geometric_full_jitter(secs(1), half, secs(60))
            .unwrap()
            .to_string(),
        "geometric with full jitter, base 1s, multiplier 1.5, cap 60s"
    );
}

prop_compose! {
    fn any_duration()(seconds in prop_oneof![0..=3600_u64, any::<u64>()], nanos in 0..1_000_000_000_u32) -> Duration {
        Duration::new(seconds, nanos)
    }
}

fn any_backoff() -> impl Strategy<Value = Backoff> {
    (
        any_duration(),
        any_duration(),
        prop::collection::vec(any_duration(), 1..8),
        prop_oneof![1.0..4.0, 1.0..f64::MAX],
        0..8_u8,
    )
        .prop_map(|(a, b, delays, multiplier, policy)| {
            let (low, high) = (a.min(b), a.max(b));
            let multiplier = Multiplier::new(multiplier).unwrap();
            match policy {
                0 => Backoff::exponential(low, high).unwrap(),
                1 => Backoff::full_jitter(low, high).unwrap(),
                2 => Backoff::decorrelated_jitter(low, high).unwrap(),
                3 => Backoff::linear(low, high).unwrap(),
                4 => Backoff::fixed(low),
                5 => Backoff::geometric(low, multiplier, high).unwrap(),
                6 => Backoff::geometric_full_jitter(low, multiplier, high).unwrap(),
                _ => Backoff::list(delays).unwrap(),
            }
        })
}

proptest! {
    #[test]
    fn f2_every_delay_is_within_its_bounds_and_a_year(
        backoff in any_backoff(),
        attempts in prop_oneof![0..=200_u32, any::<u32>()],
        bits in any::<u64>(),
    ) {
        let bounds = backoff.bounds(attempts);
        prop_assert!(bounds.start() <= bounds.end());
        prop_assert!(*bounds.end() <= YEAR);
        prop_assert!(bounds.contains(&backoff.delay(attempts, Sample::from_random_bits(bits))));
    }

    #[test]
    fn a_larger_sample_never_shortens_a_delay(
        backoff in any_backoff(),
        attempts in any::<u32>(),
        (one, two) in any::<(u64, u64)>(),
    ) {
        let (small, large) = (one.min(two), one.max(two));
        let delay = |bits| backoff.delay(attempts, Sample::from_random_bits(bits));
        prop_assert!(delay(small) <= delay(large));
    }

    #[test]
    fn growing_policies_never_shorten_with_more_attempts(
        (a, b) in (any_duration(), any_duration()),
        attempts in prop_oneof![0..=200_u32, 0..u32::MAX],
    ) {
        let (base, cap) = (a.min(b), a.max(b));
        let policies = [
            Backoff::exponential(base, cap).unwrap(),
            Backoff::full_jitter(base, cap).unwrap(),
            Backoff::decorrelated_jitter(base, cap).unwrap(),
            Backoff::geometric(base, Multiplier::TWO, cap).unwrap(),
            Backoff::linear(base, cap).unwrap(),
        ];
        for backoff in policies {
            let (now, next) = (backoff.bounds(attempts), backoff.bounds(attempts + 1));
            prop_assert!(now.start() <= next.start() && now.end() <= next.end(), "{}", backoff);
        }
    }

    #[test]
    fn a_sample_of_any_number_is_refused_or_in_range(value in any::<f64>()) {
        prop_assert_eq!(Sample::new(value).is_ok(), (0.0..1.0).contains(&value));
    }
}
