//! Which messages were probes of an open circuit and failed. A probe claims the head of a lane and gives it back as it was, so that
//! lanes are probed in turn; once heads come again, the next probes look for messages behind them that were not tried. So messages
//! that fail for reasons of their own do not keep a destination down that takes the others.

use std::collections::HashSet;

use outbox_message::MessageId;

/// So many are remembered; then it begins anew.
const REMEMBERED: usize = 10_000;

/// What was tried in vain.
#[derive(Debug, Default)]
pub(crate) struct Probed {
    ids: HashSet<MessageId>,
    /// A message has come twice: the heads of all lanes were tried.
    came_again: bool,
}

impl Probed {
    /// Takes in that a probe with this message failed.
    pub(crate) fn failed(&mut self, id: &MessageId) {
        if self.ids.len() >= REMEMBERED {
            self.ids.clear();
        }
        if !self.ids.insert(id.clone()) {
            self.came_again = true;
        }
    }

    /// Takes in that the destination confirms again. Which messages failed is kept: it may be for them that it is down next.
    pub(crate) fn confirmed(&mut self) {
        self.came_again = false;
    }

    /// Whether the next probe claims more than the head of a lane.
    pub(crate) fn looks_behind_heads(&self) -> bool {
        self.came_again
    }

    pub(crate) fn has(&self, id: &MessageId) -> bool {
        self.ids.contains(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> MessageId {
        MessageId::new(number.to_string()).unwrap()
    }

    #[test]
    fn what_comes_twice_lets_the_next_probes_look_behind_the_heads() {
        let mut probed = Probed::default();
        probed.failed(&id(1));
        probed.failed(&id(2));
        assert!(!probed.looks_behind_heads());
        probed.failed(&id(1));
        assert!(probed.looks_behind_heads());
        probed.confirmed();
        assert!(!probed.looks_behind_heads() && probed.has(&id(2)));
    }

    #[test]
    fn no_more_than_so_many_are_remembered() {
        let mut probed = Probed::default();
        (0..=REMEMBERED).for_each(|number| probed.failed(&id(number)));
        assert!(!probed.has(&id(0)) && probed.has(&id(REMEMBERED)));
    }
}
