//! Stopped topics: stopped and started by relays, paused and resumed by operators, and what they set aside let through or freed.
//!
//! What makes claims and the end of a stop go together: a claim reads `topic_state` after it locked its lanes, and the end of a stop is committed before
//! the first lane is locked to free something in it. So whatever a claim that still saw the stop sets aside is found there. Whoever has locked lanes waits for no
//! row of `topic_state`, and whoever has locked such a row waits for no lane.

use std::time::Duration;

use outbox_message::Topic;
use outbox_store::{DestinationStop, StoreError, adapter::millis};

use crate::{
    LANES,
    claim::lease_millis,
    failure::Failure,
    lease::lock_lanes,
    procedure::{Procedure, query},
    row::UnexpectedRow,
    session::{Database, Session},
    statements::Statements,
    store::Relaying,
    value::Value,
};

/// A pause is not longer than a thousand years, in milliseconds: its end must stay a time.
const LONGEST_PAUSE_MS: i64 = 1_000 * 366 * 24 * 3_600_000;

/// How often a message to let through is looked for, if others are at the same.
const PROBES: usize = 8;

/// How many rows one call frees.
const MOST_FREED: usize = 1_000;

/// How many lanes are locked together for that.
const LANES_TOGETHER: i64 = 8;

/// How many topics are freed together.
const TOPICS_TOGETHER: i64 = 100;

fn texts(topics: &[Topic]) -> Vec<Option<&str>> {
    topics.iter().map(|topic| Some(topic.as_str())).collect()
}

/// Stops topics whose destination is down.
#[derive(Debug)]
pub(crate) struct StopTopics<'a>(pub(crate) &'a DestinationStop);

impl Procedure for StopTopics<'_> {
    type Output = ();
    const WHAT: &'static str = "stop topics";

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<(), Failure<S::Error>> {
        let values = [
            Value::Texts(&texts(&self.0.topics)),
            Value::Text(Some(&self.0.destination)),
            Value::Text(Some(&self.0.relay)),
            Value::Int(lease_millis(self.0.lease)),
            Value::Text(Some(&self.0.error)),
        ];
        query(session, &statements.stop_topics, &values).await?;
        Ok(())
    }
}

/// Ends such stops.
#[derive(Debug)]
pub(crate) struct StartTopics<'a>(pub(crate) &'a [Topic]);

impl Procedure for StartTopics<'_> {
    type Output = ();
    const WHAT: &'static str = "start topics";

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<(), Failure<S::Error>> {
        let values = [Value::Texts(&texts(self.0))];
        query(session, &statements.start_topics, &values).await?;
        Ok(())
    }
}

/// Pauses a topic.
#[derive(Debug)]
pub(crate) struct Pause<'a> {
    pub(crate) topic: &'a Topic,
    /// `None` until it is resumed.
    pub(crate) time: Option<Duration>,
}

impl Procedure for Pause<'_> {
    type Output = ();
    const WHAT: &'static str = "pause a topic";

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<(), Failure<S::Error>> {
        let time = self.time.map(|time| millis(time).min(LONGEST_PAUSE_MS));
        let values = [
            Value::Text(Some(self.topic.as_str())),
            Value::MaybeInt(time),
        ];
        query(session, &statements.pause_topic, &values).await?;
        Ok(())
    }
}

/// Ends the stop of a topic. Answers `false` if it is not stopped.
#[derive(Debug)]
pub(crate) struct Resume<'a>(pub(crate) &'a Topic);

impl Procedure for Resume<'_> {
    type Output = bool;
    const WHAT: &'static str = "resume a topic";

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<bool, Failure<S::Error>> {
        let values = [Value::Text(Some(self.0.as_str()))];
        let resumed = query(session, &statements.resume_topic, &values).await?;
        Ok(!resumed.is_empty())
    }
}

/// What one look for a message to let through came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Probed {
    Through,
    /// There is none, or the topic is not stopped because of a destination.
    Nothing,
    /// What was found was gone when its lane was locked, or somebody else changes the stop.
    Gone,
}

/// Lets one message through.
#[derive(Debug)]
struct Probe<'a>(&'a Topic);

impl Procedure for Probe<'_> {
    type Output = Probed;
    const WHAT: &'static str = "let a message of a stopped topic through";

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<Probed, Failure<S::Error>> {
        let topic = Value::Text(Some(self.0.as_str()));
        let found = query(session, &statements.probe_lane, &[topic]).await?;
        let lane = match found.into_iter().next() {
            Some(mut row) => row.maybe_int()?,
            None => None,
        };
        let Some(lane) = lane else {
            return Ok(Probed::Nothing);
        };
        lock_lanes(session, statements, [lane]).await?;
        let values = [topic, Value::Int(lane)];
        let through = query(session, &statements.let_through, &values).await?;
        let position = match through.into_iter().next() {
            Some(mut row) => row.maybe_int()?,
            None => None,
        };
        Ok(position.map_or(Probed::Gone, |_| Probed::Through))
    }
}

/// Lets one message of a stopped topic through. Each look is a transaction of its own, since it locks another lane.
pub(crate) async fn probe<D: Database>(
    store: &Relaying<D>,
    topic: &Topic,
) -> Result<bool, StoreError> {
    for _ in 0..PROBES {
        match store.run(Probe(topic)).await? {
            Probed::Through => return Ok(true),
            Probed::Nothing => return Ok(false),
            Probed::Gone => {}
        }
    }
    // Whoever is always there before lets messages through.
    Ok(true)
}

/// Ends the stops whose time is over. Answers whether any stop is over.
#[derive(Debug)]
struct EndStops;

impl Procedure for EndStops {
    type Output = bool;
    const WHAT: &'static str = "end stops of topics";

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<bool, Failure<S::Error>> {
        let rows = query(session, &statements.end_stops, &[]).await?;
        let mut row = rows.into_iter().next().ok_or(UnexpectedRow("a count"))?;
        Ok(row.count()? > 0)
    }
}

/// What freeing in some lanes came to.
#[derive(Debug, Clone, Copy)]
struct Freed {
    /// How many rows were freed or removed.
    rows: usize,
    /// Whether it was noted that the lanes are done.
    noted: bool,
}

/// Frees up to `most` rows in some lanes of ended stops; nothing if no stop has ended.
#[derive(Debug)]
struct Free {
    most: usize,
}

impl Procedure for Free {
    type Output = Option<Freed>;
    const WHAT: &'static str = "free what a stop set aside";

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<Option<Freed>, Failure<S::Error>> {
        let limit = [Value::Int(TOPICS_TOGETHER)];
        let mut topics = Vec::new();
        let mut first = 0;
        for mut row in query(session, &statements.ended_topics, &limit).await? {
            topics.push(row.shown()?);
            first = row.int()?;
        }
        if topics.is_empty() {
            return Ok(None);
        }
        let end = (first + LANES_TOGETHER).min(i64::from(LANES.get()));
        let lanes: Vec<i64> = (first..end).collect();
        lock_lanes(session, statements, lanes.iter().copied()).await?;
        let topics: Vec<Option<&str>> = topics.iter().map(Option::as_deref).collect();
        let values = [
            Value::Texts(&topics),
            Value::Ints(&lanes),
            Value::Int(first),
            Value::Int(i64::try_from(self.most).unwrap_or(i64::MAX)),
        ];
        let rows = query(session, &statements.free_lanes, &values).await?;
        let mut row = rows.into_iter().next().ok_or(UnexpectedRow("a count"))?;
        Ok(Some(Freed {
            rows: usize::try_from(row.count()?).unwrap_or(usize::MAX),
            noted: row.flag()?,
        }))
    }
}

/// Frees a bounded part of what ended stops set aside. Answers how many rows it freed or removed.
pub(crate) async fn free<D: Database>(store: &Relaying<D>) -> Result<usize, StoreError> {
    // In a transaction of its own: see above.
    if !store.run(EndStops).await? {
        return Ok(0);
    }
    let mut freed = 0;
    while freed < MOST_FREED {
        let most = MOST_FREED - freed;
        let Some(step) = store.run(Free { most }).await? else {
            break;
        };
        freed += step.rows;
        if step.rows == 0 && !step.noted {
            // Somebody else changes these stops; what is left of them is for the next time.
            break;
        }
    }
    Ok(freed)
}
