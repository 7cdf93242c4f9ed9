//! A broker in memory, and the way to it: what arrives, what is refused, what is held back and what is cut.

use std::{
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use outbox_message::Message;
use outbox_publisher::PublishErrorKind;
use outbox_testkit::Received;
use tokio::sync::Notify;

/// What the broker takes at most, in bytes of payload.
pub(crate) const MAX_PAYLOAD: usize = 2 * 1024 * 1024;

/// The broker; a clone is the same one.
#[derive(Debug, Clone)]
pub(crate) struct Broker(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

/// How things stand.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each can be wrong without the others"
)]
pub(crate) struct State {
    pub(crate) arrived: Vec<Received>,
    /// Whether connections are accepted.
    pub(crate) accepts: bool,
    /// Connections of earlier generations are gone.
    pub(crate) generation: u64,
    pub(crate) carries_there: bool,
    pub(crate) carries_back: bool,
    pub(crate) cut_after: Option<u64>,
    pub(crate) exists: bool,
}

/// A connection, as it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link(u64);

/// The connection is gone.
#[derive(Debug)]
pub(crate) struct Lost;

/// What the broker says to a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Taken,
    Missing,
    Refused(PublishErrorKind),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    There,
    Back,
}

impl Broker {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(State {
                arrived: Vec::new(),
                accepts: true,
                generation: 0,
                carries_there: true,
                carries_back: true,
                cut_after: None,
                exists: true,
            }),
            changed: Notify::new(),
        }))
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.0.changed.notify_waiters();
    }

    /// A connection, if any is accepted.
    pub(crate) fn link(&self) -> Option<Link> {
        let state = self.state();
        state.accepts.then_some(Link(state.generation))
    }

    /// Whether the connection is still there.
    pub(crate) fn keeps(&self, link: Link) -> bool {
        link.0 == self.state().generation
    }

    /// Waits until the connection carries something this way.
    pub(crate) async fn carries(&self, link: Link, way: Way) -> Result<(), Lost> {
        loop {
            let mut changed = pin!(self.0.changed.notified());
            changed.as_mut().enable();
            {
                let state = self.state();
                if link.0 != state.generation {
                    return Err(Lost);
                }
                let open = match way {
                    Way::There => state.carries_there,
                    Way::Back => state.carries_back,
                };
                if open {
                    return Ok(());
                }
            }
            changed.await;
        }
    }

    /// A message comes over the connection.
    pub(crate) fn take(&self, link: Link, message: &Message) -> Result<Answer, Lost> {
        let size = u64::try_from(message.payload.len()).unwrap() + 60;
        let mut answer = Err(Lost);
        self.change(|state| {
            if link.0 != state.generation {
                return;
            }
            match state.cut_after {
                Some(left) if left < size => state.cut(),
                Some(left) => {
                    state.cut_after = Some(left - size);
                    answer = Ok(state.answer(message));
                    if left == size {
                        state.cut();
                    }
                }
                None => answer = Ok(state.answer(message)),
            }
        });
        answer
    }
}

impl State {
    /// All connections of this moment are gone.
    pub(crate) fn cut(&mut self) {
        self.generation += 1;
        self.cut_after = None;
    }

    fn answer(&mut self, message: &Message) -> Answer {
        if !self.exists {
            return Answer::Missing;
        }
        if let Some(kind) = refusal(message) {
            return Answer::Refused(kind);
        }
        self.arrived.push(Received {
            id: Some(message.id.to_string()),
            key: message.key.as_ref().map(ToString::to_string),
            payload: message.payload.to_vec(),
            headers: message.headers.pairs().to_vec(),
            content_type: message.content_type.as_ref().map(ToString::to_string),
        });
        Answer::Taken
    }
}

/// How the broker refuses a message, if it does.
fn refusal(message: &Message) -> Option<PublishErrorKind> {
    if message.payload.len() > MAX_PAYLOAD {
        return Some(PublishErrorKind::TooLarge);
    }
    if message.headers.iter().any(|(name, _)| name.contains(':')) {
        return Some(PublishErrorKind::Malformed);
    }
    if message.payload.starts_with(b"refuse ") {
        return Some(PublishErrorKind::Rejected);
    }
    let nobody = message
        .key
        .as_ref()
        .is_some_and(|key| key.as_str() == "nobody");
    nobody.then_some(PublishErrorKind::Unroutable)
}
