//! A channel that many runs publish over at once: one task hands their messages over and waits for all confirmations, so that a
//! run that is abandoned takes nothing with it and the confirmations are seen in the order in which they were made.

use std::collections::HashMap;

use lapin::{
    Channel, Confirmation, Error, ErrorKind, message::BasicReturnMessage,
    options::BasicPublishOptions, protocol::AMQPErrorKind, types::ShortString,
};
use tokio::sync::{mpsc, oneshot, watch};

use crate::{
    in_flight::InFlight,
    outgoing::Outgoing,
    returns::{Confirmed, Reason, Returns, Settled},
};

/// How a channel takes messages. When all copies are dropped the channel closes once everything is confirmed.
#[derive(Debug, Clone)]
pub(crate) struct Entrance(mpsc::UnboundedSender<Publication>);

/// What became of a message.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// The broker has it.
    Confirmed,
    /// The broker sent it back: nobody takes it.
    Returned(Reason),
    /// The broker refused it.
    Refused,
    /// The broker closed the channel while the message was in flight; it is to blame if it was alone.
    Closed { error: Error, alone: bool },
    /// The connection ended while the message was in flight.
    Lost(Error),
    /// The broker takes nothing from publishers at the moment.
    Blocked(String),
    /// It was not sent: the channel was closed before.
    NotSent,
}

struct Publication {
    outgoing: Outgoing,
    answer: oneshot::Sender<Verdict>,
}

impl Entrance {
    /// Whether the channel takes messages no more.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// Hands a message over. Dropping the future leaves it to the channel.
    pub(crate) async fn publish(&self, outgoing: Outgoing) -> Verdict {
        let (answer, verdict) = oneshot::channel();
        if self.0.send(Publication { outgoing, answer }).is_err() {
            return Verdict::NotSent;
        }
        // The task ends without an answer only together with the connection, or with the runtime it was started on.
        verdict.await.unwrap_or_else(|_| {
            Verdict::Lost(ErrorKind::InvalidConnectionState(lapin::ConnectionState::Closed).into())
        })
    }
}

/// Makes the entrance of a channel that confirms, and the task behind it.
pub(crate) fn new(
    channel: Channel,
    blocked: watch::Receiver<Option<String>>,
) -> (Entrance, impl Future<Output = ()> + Send) {
    let (entrance, inbox) = mpsc::unbounded_channel();
    let task = Task {
        channel,
        next: 0,
        waiting: HashMap::new(),
        returns: Returns::new(),
        end: End::default(),
    };
    (Entrance(entrance), task.run(inbox, blocked))
}

/// By what a message that came back is known again: its id and its routing key. Another copy of it meets the same fate.
type Key = (String, ShortString);
type Number = u64;

struct Task {
    channel: Channel,
    next: Number,
    /// Who waits for what is in flight. Nobody does once it was given up.
    waiting: HashMap<Number, (Key, Waits)>,
    returns: Returns<Key, Waits>,
    end: End,
}

type Waits = Option<oneshot::Sender<Verdict>>;

impl Task {
    async fn run(
        mut self,
        mut inbox: mpsc::UnboundedReceiver<Publication>,
        mut blocked: watch::Receiver<Option<String>>,
    ) {
        let mut in_flight = InFlight::new();
        let mut open = true;
        let mut can_block = true;
        while open || !in_flight.is_empty() {
            tokio::select! {
                biased;
                batch = in_flight.batch(), if !in_flight.is_empty() => {
                    self.take(batch);
                    if self.end.came {
                        inbox.close();
                    }
                    if in_flight.is_empty() {
                        self.returns.idle().into_iter().for_each(settle);
                    }
                },
                publication = inbox.recv(), if open => match publication {
                    Some(publication) if self.end.came => answer(Some(publication.answer), Verdict::NotSent),
                    // Its run was given up before it was sent, so it must not go out behind the relay's back.
                    Some(publication) if publication.answer.is_closed() => {}
                    Some(publication) => match &*blocked.borrow() {
                        Some(reason) => {
                            answer(Some(publication.answer), Verdict::Blocked(reason.clone()));
                        }
                        None => in_flight.push(self.send(publication)),
                    },
                    None => open = false,
                },
                changed = blocked.changed(), if can_block => match changed {
                    Ok(()) => {
                        if let Some(reason) = blocked.borrow_and_update().as_deref() {
                            self.give_up(reason);
                        }
                    }
                    Err(_) => can_block = false,
                },
            }
        }
        if self.channel.status().connected() {
            // Nothing waits for it, and a connection that is closing ends it as well.
            let _ = self.channel.close(200, "done".into()).await;
        }
    }

    fn send(
        &mut self,
        publication: Publication,
    ) -> impl Future<Output = (Number, Result<Confirmation, Error>)> + use<> {
        let Publication { outgoing, answer } = publication;
        let number = self.next;
        self.next += 1;
        let key = (
            outgoing.message_id().to_owned(),
            outgoing.routing_key.clone(),
        );
        self.waiting.insert(number, (key, Some(answer)));
        let channel = self.channel.clone();
        async move { (number, publish(channel, outgoing).await) }
    }

    /// Tells those who wait what became of a batch. If any of it failed, the channel takes nothing any more.
    fn take(&mut self, batch: Vec<(Number, Result<Confirmation, Error>)>) {
        let mut confirmed = Vec::with_capacity(batch.len());
        let mut failed = Vec::new();
        for (number, result) in batch {
            let Some((key, waits)) = self.waiting.remove(&number) else {
                continue;
            };
            match result {
                Ok(Confirmation::Ack(came_back)) => confirmed.push(Confirmed {
                    key,
                    message: waits,
                    came_back: came_back.map(|message| known_by(&message)),
                }),
                Ok(Confirmation::Nack(came_back)) => {
                    answer(waits, Verdict::Refused);
                    // It took something off all the same. The stand-in has a key that no message has.
                    confirmed.push(Confirmed {
                        key: Key::default(),
                        message: None,
                        came_back: came_back.map(|message| known_by(&message)),
                    });
                }
                // Every channel here asks for confirmations.
                Ok(Confirmation::NotRequested) => answer(waits, Verdict::Refused),
                Err(error) => failed.push((waits, error)),
            }
        }
        self.returns.take(confirmed).into_iter().for_each(settle);
        let alone = self.end.is_of_one(failed.len(), self.waiting.len());
        for (waits, error) in failed {
            answer(waits, verdict(error, alone));
        }
    }

    /// Lets nobody wait for confirmations that do not come. What is in flight may be taken later.
    fn give_up(&mut self, reason: &str) {
        for (_, waits) in self.waiting.values_mut() {
            answer(waits.take(), Verdict::Blocked(reason.to_owned()));
        }
    }
}

/// The end of a channel. It may be reported to those who were in flight one after the other.
#[derive(Debug, Default)]
struct End {
    came: bool,
}

impl End {
    /// Whether the `failed` messages of a batch are one, and were alone when the channel ended: nothing of it still waits or failed before.
    fn is_of_one(&mut self, failed: usize, waiting: usize) -> bool {
        let alone = !self.came && failed == 1 && waiting == 0;
        self.came |= failed > 0;
        alone
    }
}

fn verdict(error: Error, alone: bool) -> Verdict {
    match error.kind() {
        // The channel had ended before, and the client did not take the message.
        ErrorKind::InvalidChannelState(..) => Verdict::NotSent,
        ErrorKind::ProtocolError(of) if matches!(of.kind(), AMQPErrorKind::Soft(_)) => {
            Verdict::Closed { error, alone }
        }
        _ => Verdict::Lost(error),
    }
}

async fn publish(channel: Channel, outgoing: Outgoing) -> Result<Confirmation, Error> {
    let Outgoing {
        exchange,
        routing_key,
        properties,
        payload,
    } = outgoing;
    let options = BasicPublishOptions {
        mandatory: true,
        immediate: false,
    };
    let confirmation = channel
        .basic_publish(exchange, routing_key, options, &payload, properties)
        .await?;
    confirmation.await
}

fn known_by(message: &BasicReturnMessage) -> (Key, Reason) {
    let id = message.properties.message_id().as_ref();
    let id = id.map_or("", ShortString::as_str).to_owned();
    let reason = Reason {
        code: message.reply_code,
        text: message.reply_text.to_string(),
    };
    ((id, message.routing_key.clone()), reason)
}

fn settle((waits, reason): Settled<Waits>) {
    answer(waits, reason.map_or(Verdict::Confirmed, Verdict::Returned));
}

fn answer(waits: Waits, verdict: Verdict) {
    if let Some(waits) = waits {
        // Whoever waited may have given up.
        let _ = waits.send(verdict);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_message_in_flight_is_to_blame() {
        let mut end = End::default();
        assert!(!end.is_of_one(0, 1), "nothing failed yet");
        assert!(end.is_of_one(1, 0));
    }

    #[test]
    fn the_last_to_hear_of_the_end_was_not_alone() {
        let mut end = End::default();
        assert!(!end.is_of_one(1, 1));
        assert!(!end.is_of_one(1, 0));
        assert!(!End::default().is_of_one(2, 0));
    }
}
