//! Topics that are stopped: what must stay, what is let through, and from when on nothing keeps it any more.

use super::{Fault, Message, Model};

/// Why a topic is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// An operator paused it.
    Paused,
    /// A relay said that its destination is down.
    Destination,
}

/// A topic that is stopped, or that was and may still keep messages back, because it was not freed yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stop {
    cause: Cause,
    until: Until,
    probe: Probe,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    Ended,
    At(u64),
    Resumed,
}

/// Which message may be handed out all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Probe {
    None,
    /// One that the store chose, and that no claim has handed out yet.
    Chosen,
    At(i64),
}

impl<K: Ord + Clone, I: Eq + Clone> Model<K, I> {
    /// An operator pauses a topic, for so many milliseconds or until it is resumed, whatever it was before.
    pub fn pause(&mut self, topic: u32, time: Option<u64>) {
        let stop = Stop {
            cause: Cause::Paused,
            until: time.map_or(Until::Resumed, |time| {
                Until::At(self.now.saturating_add(time))
            }),
            probe: Probe::None,
        };
        self.stops.insert(topic, stop);
    }

    /// A relay says that the destination of a topic is down, for so many milliseconds at least. A topic that is paused stays so.
    pub fn stop(&mut self, topic: u32, lease: u64) {
        let lease = self.now.saturating_add(lease);
        let until = match self.stopped(topic) {
            Some((Cause::Paused, _)) => return,
            Some((Cause::Destination, old)) => old.unwrap_or(lease).max(lease),
            None => lease,
        };
        let stop = Stop {
            cause: Cause::Destination,
            until: Until::At(until),
            probe: Probe::None,
        };
        self.stops.insert(topic, stop);
    }

    /// A relay says that the destination of a topic is up again.
    pub fn start(&mut self, topic: u32) {
        if let Some((Cause::Destination, _)) = self.stopped(topic) {
            self.resume(topic);
        }
    }

    /// Ends the stop of a topic, whatever its cause. Returns whether it was stopped.
    pub fn resume(&mut self, topic: u32) -> bool {
        let running = self.stopped(topic).is_some();
        if let Some(stop) = self.stops.get_mut(&topic) {
            stop.until = Until::Ended;
        }
        running
    }

    /// The store was asked to let one message of a topic through; `found` is its answer. Which one it chose is told by a claim.
    ///
    /// # Errors
    /// [`Fault::LetThrough`] if no relay stopped the topic.
    pub fn probe(&mut self, topic: u32, found: bool) -> Result<(), Fault> {
        let stop = self.stops.get_mut(&topic);
        let stop = stop.filter(|stop| stop.cause == Cause::Destination);
        match (stop, found) {
            (Some(stop), true) if stop.until != Until::Ended => stop.probe = Probe::Chosen,
            (_, true) => return Err(Fault::LetThrough { topic }),
            (_, false) => {}
        }
        Ok(())
    }

    /// The store said that nothing is left to free: a topic whose stop is over keeps nothing any more.
    pub fn freed(&mut self) {
        let stops = std::mem::take(&mut self.stops);
        let kept = stops.into_iter().filter(|(_, stop)| match stop.until {
            Until::Ended => false,
            Until::At(until) => !self.is_past(until),
            Until::Resumed => true,
        });
        self.stops = kept.collect();
    }

    /// Why a topic is stopped, if it is for certain, and until when, in milliseconds; `None` until it is resumed.
    #[must_use]
    pub fn stopped(&self, topic: u32) -> Option<(Cause, Option<u64>)> {
        let stop = self.stops.get(&topic)?;
        match stop.until {
            Until::Ended => None,
            Until::At(until) => (!self.may_be_past(until)).then_some((stop.cause, Some(until))),
            Until::Resumed => Some((stop.cause, None)),
        }
    }

    /// Whether a stop of its topic may keep this message back.
    pub(super) fn may_be_kept(&self, message: &Message<K, I>) -> bool {
        self.stops.contains_key(&message.topic)
    }

    /// Judges that the message at a position of a topic was handed out.
    pub(super) fn judge_topic(&mut self, topic: u32, position: i64) -> Result<(), Fault> {
        if self.stopped(topic).is_none() {
            return Ok(());
        }
        let Some(stop) = self.stops.get_mut(&topic) else {
            return Ok(());
        };
        match stop.probe {
            Probe::Chosen => stop.probe = Probe::At(position),
            Probe::At(probe) if probe == position => {}
            Probe::None | Probe::At(_) => return Err(Fault::TopicStopped { position, topic }),
        }
        Ok(())
    }
}
