//! What a redrive did, for people and for scripts.

use std::collections::BTreeMap;

use outbox::{
    LeftInPlace,
    message::{Message, Topic},
    publisher::{Choice, PublishErrorKind, Step},
};
use serde::Serialize;

use crate::table::{count, shown};

/// How many reasons are told apart.
const REASONS: usize = 20;

/// Counts, and the reasons behind them.
#[derive(Debug, Serialize)]
pub(super) struct Account {
    queue: String,
    dry_run: bool,
    /// Published and removed; of a dry run, what would be.
    redriven: usize,
    /// Of these, how many somebody else removed meanwhile: they may have come twice.
    removed_by_others: usize,
    /// How many went to which topic.
    to: BTreeMap<String, usize>,
    /// How many stay where they are.
    left: usize,
    /// How many of these for which reason.
    left_because: BTreeMap<String, usize>,
    /// A signal ended it before there were no more.
    stopped: bool,
    /// Where the one goes that is under way.
    #[serde(skip)]
    under_way: Option<Topic>,
}

impl Account {
    pub(super) fn new(queue: &Topic, dry_run: bool) -> Self {
        Self {
            queue: queue.to_string(),
            dry_run,
            redriven: 0,
            removed_by_others: 0,
            to: BTreeMap::new(),
            left: 0,
            left_because: BTreeMap::new(),
            stopped: false,
            under_way: None,
        }
    }

    /// How many were redriven, or would be.
    pub(super) fn redriven(&self) -> usize {
        self.redriven
    }

    pub(super) fn stop(&mut self) {
        self.stopped = true;
    }

    /// A message is ready to go.
    pub(super) fn choose(&mut self, message: Message) -> Choice {
        self.under_way = Some(message.topic.clone());
        if self.dry_run {
            self.went();
            return Choice::Leave;
        }
        Choice::Publish(message.into())
    }

    /// A dead letter is to stay.
    pub(super) fn leave(&mut self, why: &LeftInPlace) -> Choice {
        self.stays(&why.to_string());
        Choice::Leave
    }

    /// What became of the one that was under way.
    pub(super) fn note(&mut self, step: &Step) {
        match step {
            Step::Redriven => self.went(),
            Step::Gone => {
                self.removed_by_others += 1;
                self.went();
            }
            Step::Refused(failure) if failure.kind == PublishErrorKind::TooLarge => {
                self.stays("it is too large for the broker");
            }
            Step::Refused(failure) => self.stays(&failure.text),
            _ => {}
        }
    }

    fn went(&mut self) {
        self.redriven += 1;
        if let Some(topic) = self.under_way.take() {
            *self.to.entry(topic.to_string()).or_default() += 1;
        }
    }

    fn stays(&mut self, why: &str) {
        self.left += 1;
        let is_known = self.left_because.contains_key(why);
        let why = if is_known || self.left_because.len() < REASONS {
            why
        } else {
            "of other reasons"
        };
        *self.left_because.entry(why.to_owned()).or_default() += 1;
    }

    /// A few lines.
    pub(super) fn text(&self) -> String {
        let letters =
            |number: usize| count(u64::try_from(number).unwrap_or(u64::MAX), "dead letter");
        let (queue, done) = (shown(&self.queue), letters(self.redriven));
        let mut lines = vec![if self.dry_run {
            format!("{done} of {queue} would be redriven")
        } else {
            format!("{done} of {queue} redriven")
        }];
        let topics = self.to.iter();
        lines.extend(topics.map(|(topic, number)| format!("  {number} to {}", shown(topic))));
        if self.removed_by_others > 0 {
            let number = letters(self.removed_by_others);
            lines.push(format!(
                "{number} was removed by somebody else meanwhile and may have come twice"
            ));
        }
        if self.left > 0 {
            lines.push(format!("{} left", letters(self.left)));
        }
        let reasons = self.left_because.iter();
        lines.extend(reasons.map(|(why, number)| format!("  {number}: {}", shown(why))));
        if self.stopped {
            lines.push("stopped before the end; run it again for the rest".to_owned());
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(dry_run: bool) -> Account {
        Account::new(&Topic::new("orders.dlq").unwrap(), dry_run)
    }

    fn message(topic: &str) -> Message {
        Message::new(topic, "").unwrap()
    }

    #[test]
    fn what_went_and_what_stays_is_counted_with_its_reasons() {
        let mut account = account(false);
        for (topic, step) in [
            ("orders", Step::Redriven),
            ("orders", Step::Gone),
            ("mail", Step::Redriven),
        ] {
            assert!(matches!(account.choose(message(topic)), Choice::Publish(_)));
            account.note(&step);
        }
        account.leave(&LeftInPlace::NotSelected);
        account.note(&Step::Left);
        assert_eq!(
            account.text(),
            "3 dead letters of orders.dlq redriven\n  1 to mail\n  2 to orders\n\
             1 dead letter was removed by somebody else meanwhile and may have come twice\n\
             1 dead letter left\n  1: it was not asked for"
        );
    }

    #[test]
    fn a_dry_run_counts_what_would_go_and_lets_nothing_go() {
        let mut account = account(true);
        assert_eq!(account.choose(message("orders")), Choice::Leave);
        account.note(&Step::Left);
        assert_eq!(account.redriven(), 1);
        assert_eq!(
            account.text(),
            "1 dead letter of orders.dlq would be redriven\n  1 to orders"
        );
    }

    #[test]
    fn reasons_without_end_are_not_all_kept() {
        let mut account = account(false);
        for number in 0..50 {
            account.leave(&LeftInPlace::Unkept(format!("its header {number}")));
        }
        assert_eq!(account.left, 50);
        assert_eq!(account.left_because.len(), REASONS + 1);
        assert_eq!(account.left_because["of other reasons"], 30);
    }
}
