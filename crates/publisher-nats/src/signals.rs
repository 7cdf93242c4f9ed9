//! What a connection says beside the answers to requests: that it has ended, and which publishes the server forbids.

use std::collections::BTreeSet;

use async_nats::{Event, ServerError};
use tokio::sync::watch;

/// How many forbidden subjects are remembered; each further publish to one is forbidden anew.
const REMEMBERED: usize = 1_000;

/// What was said so far.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    over: Option<String>,
    /// The server's last complaint, which tells why it then closed the connection.
    complaint: Option<String>,
    forbidden: BTreeSet<String>,
}

impl Signals {
    /// Why the connection has ended, if it has.
    pub(crate) fn over(&self) -> Option<&str> {
        self.over.as_deref()
    }

    /// Whether the server forbade a publish to this subject.
    pub(crate) fn forbids(&self, subject: &str) -> bool {
        self.forbidden.contains(subject)
    }

    fn forbid(&mut self, subject: String) {
        if self.forbidden.len() >= REMEMBERED {
            self.forbidden.clear();
        }
        self.forbidden.insert(subject);
    }

    /// Takes in an event. Whether anybody has to know.
    fn take(&mut self, event: &Event) -> bool {
        match event {
            Event::Disconnected | Event::Closed if self.over.is_none() => {
                let complaint = self.complaint.take();
                self.over = Some(complaint.unwrap_or_else(|| "it was closed".to_owned()));
                true
            }
            Event::ServerError(ServerError::Other(text)) => {
                let forbidden = forbidden_subject(text);
                let concerns_a_publish = forbidden.is_some();
                match forbidden {
                    Some(subject) => self.forbid(subject),
                    None => self.complaint = Some(text.clone()),
                }
                concerns_a_publish
            }
            Event::ServerError(error) => {
                self.complaint = Some(error.to_string());
                false
            }
            _ => false,
        }
    }
}

/// Takes in an event and wakes whoever has to know.
pub(crate) fn tell(signals: &watch::Sender<Signals>, event: &Event) {
    signals.send_if_modified(|signals| signals.take(event));
}

/// Forgets that a subject was forbidden: permissions change, and each publish is answered anew.
pub(crate) fn forget(signals: &watch::Sender<Signals>, subject: &str) {
    signals.send_if_modified(|signals| {
        signals.forbidden.remove(subject);
        false
    });
}

/// The subject in `Permissions Violation for Publish to "events.orders"`, which is the only answer to such a publish.
fn forbidden_subject(text: &str) -> Option<String> {
    let (_, quoted) = text.split_once("Permissions Violation for Publish to \"")?;
    let (subject, _) = quoted.rsplit_once('"')?;
    Some(subject.replace("\\\"", "\"").replace("\\\\", "\\"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(events: &[Event]) -> Signals {
        let mut signals = Signals::default();
        for event in events {
            signals.take(event);
        }
        signals
    }

    fn said(text: &str) -> Event {
        Event::ServerError(ServerError::Other(text.to_owned()))
    }

    #[test]
    fn an_end_is_told_with_what_the_server_said_before_it() {
        assert_eq!(after(&[Event::Connected]).over(), None);
        assert_eq!(after(&[Event::Disconnected]).over(), Some("it was closed"));
        let told = after(&[said("Stale Connection"), Event::Disconnected, Event::Closed]);
        assert_eq!(told.over(), Some("Stale Connection"));
    }

    #[test]
    fn a_forbidden_publish_is_known_by_its_subject() {
        let signals = after(&[said(r#"Permissions Violation for Publish to "a.\"b\\""#)]);
        assert!(signals.forbids(r#"a."b\"#));
        assert!(!signals.forbids("a"));
        assert_eq!(signals.over(), None);
    }

    #[test]
    fn what_was_forbidden_is_not_kept_without_end() {
        let text = |n| said(&format!("Permissions Violation for Publish to \"k.{n}\""));
        let events: Vec<Event> = (0..=REMEMBERED).map(text).collect();
        let signals = after(&events);
        assert_eq!(signals.forbidden.len(), 1);
        assert!(signals.forbids(&format!("k.{REMEMBERED}")));
    }
}
