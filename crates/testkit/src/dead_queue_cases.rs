//! The cases for dead-letter queues. Each is a redrive, or the steps of one, and what then stands where.

use std::collections::BTreeSet;

use outbox_message::{Delivery, Headers, Lane, LaneToken, Message, Position, Topic};
use outbox_publisher::{Choice, DeadQueues, Letter, Redrive, RedriveError, Run, Step};

use crate::DeadQueueHarness;

/// Payloads that every layout of every broker takes.
fn payload(number: u32) -> String {
    format!(r#"{{"n":{number},"attempts":0}}"#)
}

fn payloads(numbers: impl IntoIterator<Item = u32>) -> Vec<String> {
    numbers.into_iter().map(payload).collect()
}

fn message(topic: Topic, number: u32) -> Message {
    Letter::default().message(topic, payload(number).into())
}

async fn fill<H: DeadQueueHarness>(harness: &mut H, numbers: impl IntoIterator<Item = u32>) {
    let dead = harness.dead();
    let messages = numbers.into_iter();
    let messages: Vec<_> = messages
        .map(|number| message(dead.clone(), number))
        .collect();
    harness.put(&messages).await;
}

async fn open<H: DeadQueueHarness>(harness: &H) -> Redrive {
    let opened = Redrive::open(&*harness.queues(), &harness.dead()).await;
    opened.expect("the dead-letter queue is there")
}

fn to(topic: Topic) -> impl Fn(&Letter) -> Choice {
    move |letter| Choice::Publish(letter.message(topic.clone(), letter.payload.clone()).into())
}

/// Goes on to the end, and says how many were published.
async fn finish(mut redrive: Redrive, choose: impl Fn(&Letter) -> Choice) -> usize {
    let mut published = 0;
    loop {
        match redrive.step(&choose).await.expect("nothing is in the way") {
            Step::Redriven | Step::Gone => published += 1,
            Step::End => break,
            _ => {}
        }
    }
    redrive.close().await.expect("nothing is in the way");
    published
}

async fn publish(queues: &dyn DeadQueues, message: Message) {
    let lane = Lane(0);
    let token = LaneToken {
        lane,
        epoch: 1,
        holder: "suite".into(),
    };
    let delivery = Delivery {
        lane,
        position: Position(1),
        attempts: 0,
        tries: 0,
        starts: 0,
        message,
    };
    let redriver = queues.redriver();
    let destination = redriver.destination(&delivery.message.topic);
    let run = Run {
        destination: &destination,
        token: &token,
        messages: std::slice::from_ref(&delivery),
    };
    let ended = redriver.publish(run).await;
    assert_eq!(ended.confirmed, 1, "{:?}", ended.failure);
}

/// Waits until so many stand there again: brokers take back what somebody dropped when they notice.
async fn until<H: DeadQueueHarness>(harness: &mut H, topic: &Topic, count: usize) -> Vec<String> {
    while harness.count(topic).await < count {
        tokio::task::yield_now().await;
    }
    harness.look(topic).await
}

pub async fn q1_reading_removes_nothing<H: DeadQueueHarness>() {
    let mut harness = H::start().await;
    fill(&mut harness, 1..=3).await;
    let queues = harness.queues();
    let mut queue = queues
        .dead_queue(&harness.dead())
        .await
        .expect("it is there");
    for number in 1..=3 {
        let letter = queue.next().await.expect("it can be read");
        assert_eq!(letter.expect("it was put there").payload, payload(number));
    }
    assert_eq!(queue.next().await.expect("it can be read"), None);
    queue.close().await.expect("nothing is in the way");
    let dead = harness.dead();
    assert_eq!(harness.look(&dead).await, payloads(1..=3));
}

pub async fn q1_what_was_read_is_there_after_a_crash<H: DeadQueueHarness>() {
    let mut harness = H::start().await;
    fill(&mut harness, 1..=3).await;
    let queues = harness.queues();
    let mut queue = queues
        .dead_queue(&harness.dead())
        .await
        .expect("it is there");
    for _ in 1..=2 {
        assert!(queue.next().await.expect("it can be read").is_some());
    }
    drop(queue);
    let dead = harness.dead();
    assert_eq!(until(&mut harness, &dead, 3).await, payloads(1..=3));
}

pub async fn q2_what_comes_later_is_not_read<H: DeadQueueHarness>() {
    let mut harness = H::start().await;
    let empty = open(&harness).await;
    fill(&mut harness, 1..=2).await;
    let source = harness.source();
    assert_eq!(finish(empty, to(source.clone())).await, 0);
    let redrive = open(&harness).await;
    fill(&mut harness, 3..=4).await;
    assert_eq!(finish(redrive, to(source.clone())).await, 2);
    assert_eq!(harness.look(&source).await, payloads(1..=2));
    let dead = harness.dead();
    assert_eq!(harness.look(&dead).await, payloads(3..=4));
}

pub async fn q2_a_source_that_dead_letters_at_once_is_no_loop<H: DeadQueueHarness>() {
    let mut harness = H::start().await;
    fill(&mut harness, 1..=2).await;
    let redrive = open(&harness).await;
    let dead = harness.dead();
    let published = finish(redrive, |letter| {
        // With an id of its own, since a broker may know the other.
        let fresh = Letter {
            id: None,
            ..letter.clone()
        };
        to(harness.dead())(&fresh)
    });
    assert_eq!(published.await, 2);
    assert_eq!(harness.look(&dead).await, payloads(1..=2));
}

pub async fn q3_what_is_left_stays_in_its_order<H: DeadQueueHarness>() {
    let mut harness = H::start().await;
    fill(&mut harness, 1..=5).await;
    let redrive = open(&harness).await;
    let source = harness.source();
    let chosen = payloads([2, 4]);
    let published = finish(redrive, |letter| {
        let text = String::from_utf8_lossy(&letter.payload).into_owned();
        if chosen.contains(&text) {
            to(source.clone())(letter)
        } else {
            Choice::Leave
        }
    });
    assert_eq!(published.await, 2);
    let dead = harness.dead();
    assert_eq!(harness.look(&dead).await, payloads([1, 3, 5]));
    assert_eq!(harness.look(&source).await, chosen);
}

pub async fn a_letter_has_the_parts_of_its_message<H: DeadQueueHarness>() {
    let mut harness = H::start().await;
    let headers = Headers::from_pairs([("tenant", "acme"), ("other", "é")]);
    let headers = headers.expect("they are within the limits");
    let mut message = message(harness.dead(), 1);
    message.headers = headers.clone();
    harness.put(std::slice::from_ref(&message)).await;
    let queues = harness.queues();
    let mut queue = queues
        .dead_queue(&harness.dead())
        .await
        .expect("it is there");
    let letter = queue.next().await.expect("it can be read");
    let letter = letter.expect("it was put there");
    assert_eq!(letter.payload, message.payload);
    assert_eq!(letter.unkept, None);
    assert!(letter.id.is_none_or(|id| id == message.id));
    if queues.keeps_headers() {
        for (name, value) in headers.iter() {
            assert_eq!(letter.headers.get(name), Some(value));
        }
    }
}

pub async fn a_publish_that_fails_in_the_middle_loses_nothing<H: DeadQueueHarness>() {
    let mut harness = H::start().await;
    fill(&mut harness, 1..=3).await;
    let mut redrive = open(&harness).await;
    let (source, missing) = (harness.source(), harness.missing());
    let first = redrive.step(to(source.clone())).await;
    assert!(matches!(first, Ok(Step::Redriven)), "{first:?}");
    let second = redrive.step(to(missing)).await;
    assert!(
        matches!(second, Err(RedriveError::Publish(_))),
        "{second:?}"
    );
    drop(redrive);
    let dead = harness.dead();
    assert_eq!(until(&mut harness, &dead, 2).await, payloads(2..=3));
    let redrive = open(&harness).await;
    assert_eq!(finish(redrive, to(source.clone())).await, 2);
    assert_eq!(harness.look(&source).await, payloads(1..=3));
    assert_eq!(harness.look(&dead).await, payloads([]));
}

pub async fn what_the_broker_can_never_take_is_left_and_the_rest_goes_on<H: DeadQueueHarness>() {
    let mut harness = H::start().await;
    fill(&mut harness, 1..=2).await;
    let mut redrive = open(&harness).await;
    let source = harness.source();
    // No list of Laravel takes it, no frame has a name twice, no broker else has so long a header.
    let refused = redrive.step(|letter| {
        let mut message = letter.message(source.clone(), vec![0xFF].into());
        let mut push = |value: String| message.headers.push("n", value).expect("it is short");
        push("\r\n".to_owned());
        push("x".repeat(60_000));
        message.headers.push("CC", "x").expect("it is short");
        Choice::Publish(message.into())
    });
    let refused = refused.await;
    let is_refused = matches!(refused, Ok(Step::Refused(_)));
    // A broker that takes even this one has nothing to leave.
    assert!(
        is_refused || matches!(refused, Ok(Step::Redriven)),
        "{refused:?}"
    );
    let second = redrive.step(to(source.clone())).await;
    assert!(matches!(second, Ok(Step::Redriven)), "{second:?}");
    redrive.close().await.expect("nothing is in the way");
    let dead = harness.dead();
    let left = if is_refused { payloads([1]) } else { vec![] };
    assert_eq!(harness.look(&dead).await, left);
}

pub async fn a_crash_between_confirmation_and_removal_loses_nothing<H: DeadQueueHarness>() {
    let mut harness = H::start().await;
    fill(&mut harness, 1..=2).await;
    let queues = harness.queues();
    let (source, dead) = (harness.source(), harness.dead());
    let mut queue = queues.dead_queue(&dead).await.expect("it is there");
    let letter = queue.next().await.expect("it can be read");
    let letter = letter.expect("it was put there");
    let fresh = Letter { id: None, ..letter };
    publish(
        &*queues,
        fresh.message(source.clone(), fresh.payload.clone()),
    )
    .await;
    drop(queue);
    assert_eq!(until(&mut harness, &dead, 2).await, payloads(1..=2));
    let redrive = open(&harness).await;
    assert_eq!(finish(redrive, to(source.clone())).await, 2);
    assert_eq!(harness.look(&source).await, payloads([1, 1, 2]));
    assert_eq!(harness.look(&dead).await, payloads([]));
}

pub async fn a_connection_lost_between_confirmation_and_removal_loses_nothing<
    H: DeadQueueHarness,
>() {
    let mut harness = H::start().await;
    fill(&mut harness, 1..=3).await;
    let queues = harness.queues();
    let (source, dead) = (harness.source(), harness.dead());
    let mut queue = queues.dead_queue(&dead).await.expect("it is there");
    let letter = queue.next().await.expect("it can be read");
    let letter = letter.expect("it was put there");
    let fresh = Letter { id: None, ..letter };
    publish(
        &*queues,
        fresh.message(source.clone(), fresh.payload.clone()),
    )
    .await;
    harness.cut().await;
    // Whether it can be removed over another connection is the broker's matter.
    let _ = queue.remove().await;
    drop(queue);
    until(&mut harness, &dead, 2).await;
    // The broker may notice later than the next redrive begins.
    let mut arrived = BTreeSet::new();
    while arrived.len() < 3 {
        // A connection that was cut may be noticed by the call that needs it.
        if let Ok(redrive) = Redrive::open(&*queues, &dead).await {
            finish(redrive, |letter| {
                let fresh = Letter {
                    id: None,
                    ..letter.clone()
                };
                to(source.clone())(&fresh)
            })
            .await;
        }
        arrived = harness.look(&source).await.into_iter().collect();
    }
    assert_eq!(arrived, payloads(1..=3).into_iter().collect());
    assert_eq!(harness.look(&dead).await, payloads([]));
}

pub async fn two_redrives_at_once_lose_nothing<H: DeadQueueHarness>() {
    let mut harness = H::start().await;
    fill(&mut harness, 1..=6).await;
    let (mut one, mut other) = (open(&harness).await, open(&harness).await);
    let (source, dead) = (harness.source(), harness.dead());
    let choose = |letter: &Letter| {
        let fresh = Letter {
            id: None,
            ..letter.clone()
        };
        to(source.clone())(&fresh)
    };
    loop {
        let (first, second) = tokio::join!(one.step(choose), other.step(choose));
        let steps = [first, second].map(|step| step.expect("nothing is in the way"));
        if steps.iter().all(|step| matches!(step, Step::End)) {
            break;
        }
    }
    for redrive in [one, other] {
        redrive.close().await.expect("nothing is in the way");
    }
    // Each may have passed over what the other was about to take.
    finish(open(&harness).await, choose).await;
    let arrived = harness.look(&source).await;
    let different: BTreeSet<String> = arrived.iter().cloned().collect();
    assert_eq!(different, payloads(1..=6).into_iter().collect());
    assert!(H::SHARED || arrived.len() == 6, "{arrived:?}");
    assert_eq!(harness.look(&dead).await, payloads([]));
}
