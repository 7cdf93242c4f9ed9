//! A channel that many runs publish over at once: one task hands their messages over and waits for all confirmations, so that a
//! run that is abandoned takes nothing with it and the confirmations are seen in the order in which they were made.

use std::collections::HashMap;

use futures_util::{StreamExt, stream::FuturesUnordered};
use lapin::{
    Channel, Confirmation, Error, ErrorKind, message::BasicReturnMessage,
    options::BasicPublishOptions, protocol::AMQPErrorKind, types::ShortString,
};
use tokio::sync::{mpsc, oneshot, watch};

use crate::{
    outgoing::Outgoing,
    returns::{Reason, Returns},
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
    waiting: HashMap<Number, (Key, Option<oneshot::Sender<Verdict>>)>,
    returns: Returns<Key, Option<oneshot::Sender<Verdict>>>,
}

impl Task {
    async fn run(
        mut self,
        mut inbox: mpsc::UnboundedReceiver<Publication>,
        mut blocked: watch::Receiver<Option<String>>,
    ) {
        // Whole publishes are in here, not only their confirmations: each is woken as it goes on, so the order in which they end
        // is the order in which the client handled their confirmations.
        let mut in_flight = FuturesUnordered::new();
        let mut open = true;
        let mut ended = false;
        let mut can_block = true;
        while open || !in_flight.is_empty() {
            tokio::select! {
                biased;
                Some((number, result)) = in_flight.next() => match result {
                    Ok(confirmation) => {
                        self.confirmed(number, confirmation);
                        if in_flight.is_empty() {
                            self.returns.idle().into_iter().for_each(settle);
                        }
                    }
                    Err(error) => {
                        inbox.close();
                        ended = true;
                        let alone = self.waiting.len() == 1;
                        self.failed(number, &error, alone);
                        // All the others end with the same error.
                        while let Some((number, result)) = in_flight.next().await {
                            match result {
                                Ok(confirmation) => self.confirmed(number, confirmation),
                                Err(error) => self.failed(number, &error, false),
                            }
                        }
                        self.returns.idle().into_iter().for_each(settle);
                    }
                },
                publication = inbox.recv(), if open => match publication {
                    Some(publication) if ended => answer(Some(publication.answer), Verdict::NotSent),
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

    fn confirmed(&mut self, number: Number, confirmation: Confirmation) {
        let Some((key, waits)) = self.waiting.remove(&number) else {
            return;
        };
        match confirmation {
            Confirmation::Ack(came_back) => {
                let came_back = came_back.map(|message| known_by(&message));
                let settled = self.returns.confirmed(key, waits, came_back);
                settled.into_iter().for_each(settle);
            }
            Confirmation::Nack(came_back) => {
                answer(waits, Verdict::Refused);
                // It took something off all the same. The stand-in has no key that a message could have.
                let nobody = (String::new(), ShortString::default());
                let came_back = came_back.map(|message| known_by(&message));
                let settled = self.returns.confirmed(nobody, None, came_back);
                settled.into_iter().for_each(settle);
            }
            // Every channel here asks for confirmations.
            Confirmation::NotRequested => answer(waits, Verdict::Refused),
        }
    }

    fn failed(&mut self, number: Number, error: &Error, alone: bool) {
        let Some((_, waits)) = self.waiting.remove(&number) else {
            return;
        };
        let error = error.clone();
        let verdict = match error.kind() {
            // The channel had ended before, and the client did not take the message.
            ErrorKind::InvalidChannelState(..) => Verdict::NotSent,
            ErrorKind::ProtocolError(of) if matches!(of.kind(), AMQPErrorKind::Soft(_)) => {
                Verdict::Closed { error, alone }
            }
            _ => Verdict::Lost(error),
        };
        answer(waits, verdict);
    }

    /// Lets nobody wait for confirmations that do not come. What is in flight may be taken later.
    fn give_up(&mut self, reason: &str) {
        for (_, waits) in self.waiting.values_mut() {
            answer(waits.take(), Verdict::Blocked(reason.to_owned()));
        }
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

fn settle((waits, reason): (Option<oneshot::Sender<Verdict>>, Option<Reason>)) {
    answer(waits, reason.map_or(Verdict::Confirmed, Verdict::Returned));
}

fn answer(waits: Option<oneshot::Sender<Verdict>>, verdict: Verdict) {
    if let Some(waits) = waits {
        // Whoever waited may have given up.
        let _ = waits.send(verdict);
    }
}
