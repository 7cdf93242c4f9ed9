//! Histories of random right worlds are never accused, neither as they are nor seen through coarse
//! intervals; and long ones are judged in no time.

use proptest::prelude::*;

use super::*;
use crate::world::{Event as Recorded, World, actions};

/// The same history as a recorder sees it whose calls begin earlier and are answered later.
fn widened(events: &[Recorded], widths: &[(u8, u8)]) -> Vec<Recorded> {
    let widths = widths.iter().cycle();
    let widen = |(event, (before, after)): (&Recorded, &(u8, u8))| match event.when {
        When::At(at) if before + after > 0 => Event::during(
            at - i64::from(*before),
            at + i64::from(*after),
            event.what.clone(),
        ),
        _ => event.clone(),
    };
    events.iter().zip(widths).map(widen).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// O2, O3, O5, O6, O9, O11: whatever a right world does is right.
    #[test]
    fn o11_a_right_world_is_never_accused(actions in actions()) {
        let events = World::history(actions);
        prop_assert_eq!(check(&events), vec![]);
    }

    /// The same when the order of calls that overlap cannot be known.
    #[test]
    fn o11_a_right_world_is_not_accused_through_coarse_intervals(
        actions in actions(),
        widths in prop::collection::vec((0..40_u8, 0..40_u8), 1..20),
    ) {
        let events = widened(&World::history(actions), &widths);
        prop_assert_eq!(check(&events), vec![]);
    }
}

/// Three keys whose 60,000 messages go out in long claims, and one message that is tried for ever.
fn long_history() -> Vec<Event<u32, u32, u32>> {
    const KEYS: u32 = 3;
    let mut events: Vec<Event<u32, u32, u32>> = Vec::new();
    for message in 0..60_000 {
        let (key, line) = (Some(message % KEYS), Line::AtOnce);
        events.push(Event::at(
            0,
            What::Saved {
                message,
                key,
                position: message.into(),
                line,
            },
        ));
        events.push(Event::at(0, What::Committed { message }));
    }
    for (token, first) in (0..60_000).step_by(300).enumerate() {
        let token = u32::try_from(token).unwrap();
        let messages = (first..first + 300)
            .map(|message| (i64::from(message), message))
            .collect();
        events.push(Event::at(
            1,
            What::Claimed {
                token,
                lease_end: 100,
                messages,
            },
        ));
        for message in first..first + 300 {
            events.push(Event::at(
                1,
                What::HandedOver {
                    token,
                    messages: vec![message],
                },
            ));
            events.push(Event::at(
                1,
                What::Received {
                    message,
                    token: Some(token),
                },
            ));
            events.push(Event::at(1, What::Confirmed { token, message }));
        }
        events.push(Event::at(1, What::Released { token }));
    }
    // One message that is tried again and again.
    let (message, key, line) = (60_000, Some(KEYS), Line::AtOnce);
    events.push(Event::at(
        1,
        What::Saved {
            message,
            key,
            position: 60_000,
            line,
        },
    ));
    events.push(Event::at(1, What::Committed { message }));
    for token in 1_000..6_000 {
        let messages = vec![(60_000, message)];
        events.push(Event::at(
            1,
            What::Claimed {
                token,
                lease_end: 100,
                messages,
            },
        ));
        events.push(Event::at(
            1,
            What::HandedOver {
                token,
                messages: vec![message],
            },
        ));
        events.push(Event::at(
            1,
            What::Received {
                message,
                token: Some(token),
            },
        ));
        events.push(Event::at(1, What::Failed { token, message }));
        events.push(Event::at(1, What::Released { token }));
    }
    events
}

/// Nothing in the judge grows with the square of a history; if it did, this would not end.
#[test]
fn o11_a_history_of_300_000_events_is_judged() {
    let mut events = long_history();
    assert!(events.len() > 300_000);
    assert_eq!(check(&events), []);

    // Two messages of one key change places at the broker.
    let at = |events: &[Event<u32, u32, u32>], of| {
        let received = What::Received {
            message: of,
            token: Some(199),
        };
        events
            .iter()
            .position(|event| event.what == received)
            .unwrap()
    };
    let (first, second) = (at(&events, 59_996), at(&events, 59_999));
    events.swap(first, second);
    let violations = check(&events);
    assert_eq!(violations.len(), 1, "{violations:?}");
    let found = &violations[0];
    assert_eq!(
        (found.rule, found.first, found.second),
        (Rule::O11, 59_996, 59_999)
    );
}
