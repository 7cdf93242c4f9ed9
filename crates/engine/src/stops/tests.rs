//! What the store is told of stops, step by step.

use outbox_message::{Lane, Message, Position};

use super::*;

fn topic(name: &str) -> Topic {
    Topic::new(name).expect("a valid topic")
}

fn message(name: &str) -> Delivery {
    let message = Message::new(name, Vec::new()).expect("a valid message");
    Delivery {
        lane: Lane(0),
        position: Position(1),
        attempts: 0,
        tries: 1,
        starts: 0,
        message,
    }
}

/// The topics of which the store is told next, or what else is next.
fn told(stops: &mut Stops, now: Instant) -> Result<Vec<String>, Option<Step>> {
    let (second, relay) = (Duration::from_secs(1), Arc::from("relay"));
    let step = stops.next(now, second, |_| None, second, &relay);
    match step {
        Some(Step::Stop(told)) => Ok(told.topics.iter().map(ToString::to_string).collect()),
        other => Err(other),
    }
}

#[test]
fn the_store_is_told_of_what_failed_and_of_everything_from_time_to_time() {
    let (now, config) = (Instant::now(), RelayConfig::default());
    let mut stops = Stops::new(now, &config);
    assert_eq!(told(&mut stops, now), Err(Some(Step::Free)));
    stops.failed("mail server", &message("a"), "gone", now);
    stops.met("mail server", &message("b"), now);
    assert_eq!(told(&mut stops, now), Ok(vec!["a".into(), "b".into()]));
    stops.met("mail server", &message("b"), now);
    stops.failed("mail server", &message("a"), "gone", now);
    assert_eq!(told(&mut stops, now), Ok(vec!["a".into()]));
    assert_eq!(told(&mut stops, now), Err(None));
    let later = now + config.renewal;
    assert_eq!(stops.at(|_| None), Some(later));
    assert_eq!(told(&mut stops, later), Ok(vec!["a".into(), "b".into()]));
    assert_eq!(told(&mut stops, later), Err(None));
}

#[test]
fn what_another_relay_took_and_did_not_bring_back_is_served_there() {
    let (now, config) = (Instant::now(), RelayConfig::default());
    let mut stops = Stops::new(now, &config);
    assert_eq!(told(&mut stops, now), Err(Some(Step::Free)));
    for ended_by_others in [false, true] {
        stops.failed("mail server", &message("a"), "gone", now);
        assert_eq!(told(&mut stops, now), Ok(vec!["a".into()]));
        if ended_by_others {
            stops.let_through("mail server", &topic("a"));
        }
        stops.nothing_to_probe("mail server", &topic("a"), now);
        let start = Step::Start(vec![topic("a")]);
        assert_eq!(told(&mut stops, now), Err(Some(start)));
        assert_eq!(told(&mut stops, now), Err(Some(Step::Free)));
    }
    stops.failed("mail server", &message("a"), "gone", now);
    assert_eq!(told(&mut stops, now), Err(None));
    let later = now + SERVED_ELSEWHERE;
    stops.failed("mail server", &message("a"), "gone", later);
    assert_eq!(told(&mut stops, later), Ok(vec!["a".into()]));
}
