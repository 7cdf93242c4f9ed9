//! The harness of the broker in memory.

use std::sync::Arc;

use outbox_message::{Message, Topic};
use outbox_publisher::{PublishErrorKind, Publisher};
use outbox_testkit::{
    Door, Fault, HeaderSupport, PublisherCapabilities, PublisherHarness, Received,
};

use crate::{
    broker::{Broker, MAX_PAYLOAD},
    flaw::{Flaw, flaw},
    publisher::{FakePublisher, NAME, PASSWORD, WRONG_PASSWORD},
};

/// A destination in memory, and publishers to it with the flaw of the thread.
pub(crate) struct Fake {
    broker: Broker,
    removed: Vec<Received>,
}

impl PublisherHarness for Fake {
    const CAPABILITIES: PublisherCapabilities = PublisherCapabilities::BARE
        .with_keys()
        .with_content_types()
        .with_headers(HeaderSupport::Pairs)
        .with_any_header_text()
        .with_max_payload(MAX_PAYLOAD)
        .with_refusals(&[
            PublishErrorKind::TooLarge,
            PublishErrorKind::Malformed,
            PublishErrorKind::Rejected,
            PublishErrorKind::Unroutable,
        ])
        .with_credentials()
        .with_tls()
        .with_missing();

    async fn start() -> Self {
        Self {
            broker: Broker::new(),
            removed: Vec::new(),
        }
    }

    async fn start_alone() -> Self {
        Self::start().await
    }

    fn topic(&self) -> Topic {
        Topic::new("orders").unwrap()
    }

    fn publisher(&self, door: Door) -> Arc<dyn Publisher> {
        Arc::new(FakePublisher::new(self.broker.clone(), door, flaw()))
    }

    async fn received(&mut self) -> Vec<Received> {
        let mut all = self.removed.clone();
        all.extend(self.broker.state().arrived.iter().cloned());
        all
    }

    fn refused(&self, kind: PublishErrorKind) -> Message {
        let message = |payload: &[u8]| Message::new("orders", payload.to_vec()).unwrap();
        match kind {
            PublishErrorKind::TooLarge => message(&vec![b'x'; MAX_PAYLOAD + 1]),
            PublishErrorKind::Malformed => message(b"malformed by its header")
                .with_header("bad:name", "v")
                .unwrap(),
            PublishErrorKind::Rejected => message(b"refuse this message"),
            PublishErrorKind::Unroutable => message(b"nobody takes this message")
                .with_key("nobody")
                .unwrap(),
            other => panic!("no message is refused with {other:?}"),
        }
    }

    async fn strike(&mut self, fault: Fault) {
        let mut removed = Vec::new();
        self.broker.change(|state| match fault {
            Fault::Killed => {
                state.accepts = false;
                state.cut();
                if flaw() == Flaw::BrokerForgets {
                    state.arrived.pop();
                }
            }
            Fault::Refused => {
                state.accepts = false;
                state.cut();
            }
            Fault::Frozen | Fault::Stalled => {
                state.carries_there = false;
                state.carries_back = false;
            }
            Fault::Unanswered => state.carries_back = false,
            Fault::Cut => state.cut(),
            Fault::CutAfter(bytes) => state.cut_after = Some(bytes),
            Fault::Missing => {
                state.exists = false;
                removed.append(&mut state.arrived);
            }
            other => panic!("{other:?} is not known here"),
        });
        self.removed.append(&mut removed);
    }

    async fn heal(&mut self) {
        self.broker.change(|state| {
            state.accepts = true;
            state.carries_there = true;
            state.carries_back = true;
            state.cut_after = None;
            state.exists = true;
        });
    }

    fn missing_name(&self) -> String {
        NAME.to_owned()
    }

    fn secrets(&self) -> Vec<String> {
        vec![PASSWORD.to_owned(), WRONG_PASSWORD.to_owned()]
    }
}
