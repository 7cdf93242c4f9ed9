//! What can be wrong with a publisher, and which cases are about it.

use std::{borrow::Cow, cell::Cell};

use outbox_message::{Headers, Message, MessageId};

/// The flaw of a publisher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    None,
    // Order and confirmation.
    SendsAhead,
    SendsBackwards,
    OneRunAtATime,
    ForgetsTheLast,
    ConfirmsOnSending,
    LossConfirms,
    // One message that is refused.
    RefusalConfirms,
    RefusalIsUnknown,
    GoesOnAfterFailure,
    RefusalJudgesNeighbors,
    RefusalIsAnOutage,
    ErrorShowsPayload,
    // What arrives.
    PayloadAsText,
    PayloadTrimmed,
    PayloadCut,
    IdAnew,
    ContentTypeDropped,
    KeyDropped,
    KeyMadeFit,
    HeadersDropped,
    HeadersSorted,
    HeadersUnique,
    HeadersTrimmed,
    HeaderNamesLowered,
    // Outages.
    OutageCounts,
    GivesUpAtFirst,
    NeverReconnects,
    BrokerForgets,
    MissingCounts,
    MissingNameless,
    MissingForEver,
    // Doors.
    RefusedCredentialsCount,
    ErrorShowsPassword,
    DebugShowsPassword,
    NameShowsPassword,
    NoTls,
    TrustsEverybody,
    // Calls that are dropped.
    CanceledCallHangs,
    CanceledConnectHangs,
    CanceledCallCuts,
    // What is said without publishing.
    NameChanges,
    CheckSaysYes,
    CheckPublishes,
}

thread_local! {
    static FLAW: Cell<Flaw> = const { Cell::new(Flaw::None) };
}

/// The flaw of publishers that are made on this thread.
pub(crate) fn flaw() -> Flaw {
    FLAW.get()
}

pub(crate) fn with_flaw(flaw: Flaw, work: impl FnOnce()) {
    FLAW.set(flaw);
    work();
}

impl Flaw {
    /// The message as a publisher with this flaw sends it.
    pub(crate) fn change(self, message: &Message) -> Cow<'_, Message> {
        let mut changed = message.clone();
        let pairs = message.headers.iter();
        match self {
            Self::PayloadAsText => {
                let text = String::from_utf8_lossy(&message.payload).into_owned();
                changed.payload = text.into_bytes().into();
            }
            Self::PayloadTrimmed => {
                changed.payload = message.payload.trim_ascii().to_vec().into();
            }
            Self::PayloadCut => changed.payload.truncate(1024 * 1024),
            Self::IdAnew => changed.id = MessageId::generate(),
            Self::ContentTypeDropped => changed.content_type = None,
            Self::KeyDropped => changed.key = None,
            Self::KeyMadeFit => {
                let key = message
                    .key
                    .as_ref()
                    .map(|key| key.as_str().replace(' ', "_"));
                return Cow::Owned(match key {
                    Some(key) => changed.with_key(key).unwrap(),
                    None => changed,
                });
            }
            Self::HeadersDropped => changed.headers = Headers::new(),
            Self::HeadersSorted => {
                let mut pairs: Vec<_> = pairs.collect();
                pairs.sort_unstable();
                changed.headers = Headers::from_pairs(pairs).unwrap();
            }
            Self::HeadersUnique => {
                let first = |(n, (name, _)): &(usize, (&str, &str))| {
                    !message.headers.iter().take(*n).any(|(it, _)| it == *name)
                };
                let pairs = pairs.enumerate().filter(first).map(|(_, pair)| pair);
                changed.headers = Headers::from_pairs(pairs).unwrap();
            }
            Self::HeadersTrimmed => {
                let pairs = pairs.map(|(name, value)| (name, value.trim()));
                changed.headers = Headers::from_pairs(pairs).unwrap();
            }
            Self::HeaderNamesLowered => {
                let pairs = pairs.map(|(name, value)| (name.to_lowercase(), value));
                changed.headers = Headers::from_pairs(pairs).unwrap();
            }
            _ => return Cow::Borrowed(message),
        }
        Cow::Owned(changed)
    }
}
