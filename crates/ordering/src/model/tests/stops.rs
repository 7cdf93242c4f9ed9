//! Stopped topics: nothing of them goes out but what is let through, and once they are free nothing keeps them.

use super::*;
use crate::model::Cause;

/// Messages 1 and 2 of one key and 3 without one are of topic 7, message 4 of another key is not.
fn two_topics() -> Store {
    let mut model = store();
    let tx = model.begin();
    model.save_in(tx, 7, 1, 1, Some("a"), None);
    model.save_in(tx, 7, 2, 2, Some("a"), None);
    model.save_in(tx, 7, 3, 3, None, None);
    model.save(tx, 4, 4, Some("b"), None);
    model.commit(tx);
    model
}

fn stopped(position: i64) -> Fault {
    Fault::TopicStopped { position, topic: 7 }
}

#[test]
fn s14_nothing_of_a_stopped_topic_goes_out_and_others_must() {
    let mut model = two_topics();
    model.pause(7, None);
    assert_eq!(claim(&mut model, lane("a"), &[1]), Err(stopped(1)));
    assert_eq!(claim(&mut model, lane("a"), &[3]), Err(stopped(3)));
    let fault = empty_claim(&mut model).unwrap_err();
    let lane_of_b = Some(lane("b"));
    assert_eq!(fault, Fault::Stalled { lane: lane_of_b });
    let lease = claim(&mut model, lane("b"), &[4]).unwrap();
    settle(&mut model, lease, &[(4, Outcome::Published)]);
    assert_eq!(empty_claim(&mut model), Ok(vec![]));
    model.advance(1_000_000);
    assert_eq!(empty_claim(&mut model), Ok(vec![]));
}

#[test]
fn s15_what_is_over_may_stay_until_it_is_free_and_then_must_go_on() {
    let mut model = saved(&[]);
    let tx = model.begin();
    model.save_in(tx, 7, 1, 1, Some("a"), None);
    model.commit(tx);
    model.pause(7, Some(50));
    model.freed();
    assert_eq!(claim(&mut model, lane("a"), &[1]), Err(stopped(1)));
    model.advance(50);
    assert_eq!(empty_claim(&mut model), Ok(vec![]));
    assert!(claim(&mut model.clone(), lane("a"), &[1]).is_ok());
    model.freed();
    assert!(model.must_progress());
    assert!(!model.resume(7));
}

#[test]
fn a6_a_relay_neither_prolongs_nor_ends_a_pause() {
    let mut model = two_topics();
    model.pause(7, Some(100));
    model.stop(7, 1_000);
    model.start(7);
    assert_eq!(model.stopped(7), Some((Cause::Paused, Some(100))));
    assert_eq!(model.probe(7, true), Err(Fault::LetThrough { topic: 7 }));
    assert_eq!(model.probe(7, false), Ok(()));
    model.advance(100);
    model.stop(7, 1_000);
    assert_eq!(model.stopped(7), Some((Cause::Destination, Some(1_100))));
    model.stop(7, 10);
    assert_eq!(model.stopped(7), Some((Cause::Destination, Some(1_100))));
    model.pause(7, None);
    assert_eq!(model.stopped(7), Some((Cause::Paused, None)));
    assert!(model.resume(7) && !model.resume(7));
    assert_eq!(model.probe(7, true), Err(Fault::LetThrough { topic: 7 }));
}

#[test]
fn s14_one_message_is_let_through() {
    let mut model = two_topics();
    model.stop(7, 1_000_000);
    model.probe(7, true).unwrap();
    assert_eq!(
        claim(&mut model.clone(), lane("a"), &[1, 2]),
        Err(stopped(2))
    );
    assert!(claim(&mut model.clone(), lane("a"), &[3]).is_ok());
    let probe = claim(&mut model, lane("a"), &[1]).unwrap();
    settle(&mut model, probe, &[(1, Outcome::Release)]);
    assert_eq!(claim(&mut model.clone(), lane("a"), &[3]), Err(stopped(3)));
    let probe = claim(&mut model, lane("a"), &[1]).unwrap();
    settle(&mut model, probe, &[(1, retry(10))]);
    model.advance(10);
    assert!(claim(&mut model.clone(), lane("a"), &[1]).is_ok());
    model.stop(7, 1_000_000);
    assert_eq!(claim(&mut model, lane("a"), &[1]), Err(stopped(1)));
    model.start(7);
    assert!(claim(&mut model, lane("a"), &[1, 2, 3]).is_ok());
}
