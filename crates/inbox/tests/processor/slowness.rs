//! A database that is slow, hangs, or does not say whether it committed: none of that is a failure of the message. Each message has one attempt here, so that
//! a failure that is counted is a dead letter.

use std::time::Duration;

use outbox_inbox::HandlerError;
use outbox_message::{Delivery, Lane, LaneToken, Message, Position};
use outbox_publisher::{PublishErrorKind, Publisher, Run};
use tokio::time::Instant;

use crate::scene::{Ending, FOREVER, Faults, PAID, Service};

const SECOND: Duration = Duration::from_secs(1);

/// Nothing was counted, and with a database that is well the message is handled, once altogether.
async fn is_handled_a_second_later(service: &Service) {
    assert!(service.dead().await.is_empty(), "a failure was counted");
    service.database.set_faults(Faults::default());
    service.incoming.advance(SECOND);
    assert_eq!(service.try_once().await.published, 1);
    assert_eq!(service.database.effects().await, ["o-1 is paid"]);
}

#[tokio::test(start_paused = true)]
async fn f5_a_handler_is_not_started_after_a_wait_and_that_is_not_counted() {
    for slow in [
        Faults {
            begin: 3 * SECOND,
            ..Faults::default()
        },
        Faults {
            once: 3 * SECOND,
            ..Faults::default()
        },
        Faults {
            once: FOREVER,
            ..Faults::default()
        },
    ] {
        let service = Service::new();
        service.deliver("o-1").await;
        service.database.set_faults(slow);
        let report = service.try_once().await;
        assert!(service.calls().is_empty(), "{slow:?}");
        assert_eq!(report.published, 0);
        is_handled_a_second_later(&service).await;
    }
}

#[tokio::test(start_paused = true)]
async fn f3_a_database_that_begins_nothing_is_unavailable() {
    let service = Service::new();
    service.deliver("o-1").await;
    service.database.set_faults(Faults {
        begin: FOREVER,
        ..Faults::default()
    });
    assert_eq!(publish(&service).await, Err(PublishErrorKind::Unavailable));
    service.try_once().await;
    assert!(service.dead().await.is_empty());
    assert!(service.calls().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_handler_has_its_whole_time_after_a_wait_and_its_commit_a_time_of_its_own() {
    let service = Service::new();
    service.deliver("o-1").await;
    service.database.set_faults(Faults {
        begin: SECOND / 4,
        once: SECOND / 4,
        commit: 9 * SECOND / 10,
        ..Faults::default()
    });
    service.hold();
    let handling = tokio::spawn({
        let service = service.clone();
        async move { service.try_once().await }
    });
    service.called().await;
    tokio::time::sleep(Duration::from_millis(7_990)).await;
    service.open();
    assert_eq!(handling.await.unwrap().published, 1);
    assert_eq!(service.database.effects().await, ["o-1 is paid"]);
}

#[tokio::test(start_paused = true)]
async fn d1_a_commit_that_happened_is_no_failure_whatever_was_said() {
    let service = Service::new();
    service.deliver("o-1").await;
    service.database.set_faults(Faults {
        ending: Ending::Denied,
        ..Faults::default()
    });
    assert_eq!(service.try_once().await.published, 1);
    assert_eq!(service.calls(), ["o-1"]);
    assert_eq!(service.database.effects().await, ["o-1 is paid"]);
}

#[tokio::test(start_paused = true)]
async fn f5_a_commit_of_which_nothing_is_known_is_not_counted_and_once_tells_later() {
    let hangs_before = Faults {
        commit: FOREVER,
        ..Faults::default()
    };
    let hangs_after = Faults {
        ending: Ending::Silent,
        ..Faults::default()
    };
    for (faults, calls) in [(hangs_before, 2), (hangs_after, 1)] {
        let service = Service::new();
        service.deliver("o-1").await;
        service.database.set_faults(faults);
        assert_eq!(service.try_once().await.published, 0);
        is_handled_a_second_later(&service).await;
        assert_eq!(service.calls().len(), calls, "{faults:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn f5_a_commit_that_failed_and_cannot_be_asked_about_is_not_counted() {
    let leaving = |faults: Faults| {
        let service = Service::new();
        let database = service.database.clone();
        service.but_ending(move |_| {
            database.set_faults(faults);
            Ok(())
        })
    };
    for (begin, once) in [(FOREVER, Duration::ZERO), (Duration::ZERO, FOREVER)] {
        let service = leaving(Faults {
            begin,
            once,
            ending: Ending::Denied,
            ..Faults::default()
        });
        service.deliver("o-1").await;
        assert_eq!(service.try_once().await.published, 0);
        assert!(service.dead().await.is_empty());
        assert_eq!(service.database.effects().await, ["o-1 is paid"]);
    }
}

#[tokio::test(start_paused = true)]
async fn f1_a_commit_that_is_known_not_to_have_happened_is_a_counted_failure() {
    let service = Service::new();
    service.deliver("o-1").await;
    service.database.set_faults(Faults {
        ending: Ending::RolledBack,
        ..Faults::default()
    });
    assert_eq!(service.try_once().await.dead, 1);
    let (_, error, _) = service.death().await;
    assert!(
        error.starts_with("the transaction was not committed: "),
        "{error}"
    );
    assert!(service.database.effects().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn f3_a_failure_after_which_the_database_hangs_is_not_counted() {
    let service = Service::new();
    let database = service.database.clone();
    let hanging = service.but_ending(move |_| {
        database.set_faults(Faults {
            begin: FOREVER,
            ..Faults::default()
        });
        Err(HandlerError::new("the connection broke"))
    });
    hanging.deliver("o-1").await;
    assert_eq!(publish(&hanging).await, Err(PublishErrorKind::Unavailable));
    hanging.database.set_faults(Faults::default());
    hanging.try_once().await;
    assert_eq!(hanging.calls().len(), 2);
    assert!(service.dead().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_by_itself_whatever_is_slow() {
    let times = [0, 400, 7_900, 100_000].map(Duration::from_millis);
    for timeout in [8 * SECOND, SECOND / 10] {
        for begin in times {
            for once in times {
                for (commit, held) in [(Duration::ZERO, false), (FOREVER, false), (FOREVER, true)] {
                    let service = Service::new();
                    service.database.set_faults(Faults {
                        begin,
                        once,
                        commit,
                        ending: Ending::Denied,
                    });
                    if held {
                        service.hold();
                    }
                    let processor = service.processor().timeout(timeout);
                    let longest = processor.longest_call();
                    let start = Instant::now();
                    let _ = publish_with(&processor).await;
                    let took = start.elapsed();
                    assert!(took < longest, "{took:?} with {begin:?}, {once:?}");
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_database_may_take_longer_than_a_handler_that_is_quick() {
    let service = Service::new();
    service.database.set_faults(Faults {
        begin: SECOND / 4,
        commit: SECOND / 4,
        ..Faults::default()
    });
    let processor = service.processor().timeout(SECOND / 10);
    assert_eq!(publish_with(&processor).await, Ok(()));
    assert_eq!(service.database.effects().await, ["o-1 is paid"]);
}

async fn publish(service: &Service) -> Result<(), PublishErrorKind> {
    publish_with(&service.processor()).await
}

/// Hands a message to a processor without a relay.
async fn publish_with(processor: &impl Publisher) -> Result<(), PublishErrorKind> {
    let body = format!(r#"{{"job":"{PAID}","data":{{"order":"o-1"}}}}"#);
    let delivery = Delivery {
        lane: Lane(0),
        position: Position(1),
        attempts: 0,
        tries: 0,
        starts: 0,
        message: Message::new("orders", body).unwrap(),
    };
    let token = LaneToken {
        lane: Lane(0),
        epoch: 1,
        holder: "test".into(),
    };
    let run = Run {
        destination: "handlers of orders",
        token: &token,
        messages: std::slice::from_ref(&delivery),
    };
    let failure = processor.publish(run).await.failure;
    failure.map_or(Ok(()), |error| Err(error.kind))
}
