//! What becomes of messages whose failure was counted, sorted by where they go: a pure decision. The statements carry it out.

use std::collections::{BTreeMap, btree_map::Entry};

use outbox_message::OrderingKey;
use outbox_store::adapter::{Failed, Next};

use super::fence::Place;

/// Where failed messages go, and what their keys wait for.
#[derive(Debug, Default)]
pub(super) struct Fates<'f, 'a> {
    /// From the line to those that wait.
    pub(super) aside: Vec<&'f Failed<'a>>,
    /// From the line to those scheduled, with the delay in milliseconds.
    pub(super) scheduled: Vec<(&'f Failed<'a>, i64)>,
    /// To the dead letters.
    pub(super) dead: Vec<&'f Failed<'a>>,
    /// The keys that wait, each once: a statement cannot write a row twice.
    pub(super) blocks: BTreeMap<&'a OrderingKey, Block>,
    /// Keys of which a message that was set aside is gone.
    pub(super) freed: Vec<&'a OrderingKey>,
}

/// What a key waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) lane: u16,
    pub(super) position: i64,
    /// In milliseconds; `None` waits for an operator.
    pub(super) delay: Option<i64>,
}

impl Block {
    /// Of several blocks of a key that of a dead letter counts, else that of the smallest position.
    fn rank(self) -> (bool, i64) {
        (self.delay.is_some(), self.position)
    }
}

impl<'f, 'a> Fates<'f, 'a> {
    /// Adds a message whose failure was counted where it stands.
    pub(super) fn add(&mut self, failed: &'f Failed<'a>, place: Place) {
        match (failed.next, failed.key, place) {
            (Next::Stay, _, Place::Line) => {}
            (Next::Wait(delay), None, Place::Line) => self.scheduled.push((failed, delay)),
            (Next::Wait(delay), _, Place::Line) => {
                self.aside.push(failed);
                self.block(failed, Some(delay));
            }
            // It is not in the line any more, so being due in its place means that its key is due.
            (Next::Stay, _, Place::Aside) => self.block(failed, Some(0)),
            (Next::Wait(delay), _, Place::Aside) => self.block(failed, Some(delay)),
            (Next::Die(..), key, place) => {
                self.dead.push(failed);
                if place == Place::Aside {
                    self.freed.extend(key);
                }
                if failed.holds() {
                    self.block(failed, None);
                }
            }
        }
    }

    fn block(&mut self, failed: &Failed<'a>, delay: Option<i64>) {
        let Some(key) = failed.key else { return };
        let block = Block {
            lane: failed.lane,
            position: failed.position,
            delay,
        };
        match self.blocks.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(block);
            }
            Entry::Occupied(mut entry) => {
                if block.rank() < entry.get().rank() {
                    entry.insert(block);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use outbox_store::{AfterDeath, DeathReason};

    use super::*;

    fn key(key: &str) -> OrderingKey {
        OrderingKey {
            topic: "t".parse().unwrap(),
            key: key.parse().unwrap(),
        }
    }

    fn failed(position: i64, key: Option<&OrderingKey>, next: Next) -> Failed<'_> {
        Failed {
            lane: 3,
            position,
            tries: 0,
            counted: true,
            error: "refused",
            key,
            next,
            notice: None,
        }
    }

    fn die(after: AfterDeath) -> Next {
        Next::Die(DeathReason::Permanent, after)
    }

    fn positions(failed: &[&Failed<'_>]) -> Vec<i64> {
        failed.iter().map(|failed| failed.position).collect()
    }

    #[test]
    fn o6_a_retry_with_a_key_waits_and_blocks_it_and_one_without_is_scheduled() {
        let a = key("a");
        let keyed = failed(1, Some(&a), Next::Wait(50));
        let unkeyed = failed(2, None, Next::Wait(60));
        let stays = failed(3, Some(&a), Next::Stay);
        let mut fates = Fates::default();
        for failed in [&keyed, &unkeyed, &stays] {
            fates.add(failed, Place::Line);
        }
        assert_eq!(positions(&fates.aside), [1]);
        assert_eq!(fates.scheduled.len(), 1);
        assert_eq!(
            (fates.scheduled[0].0.position, fates.scheduled[0].1),
            (2, 60)
        );
        let block = Block {
            lane: 3,
            position: 1,
            delay: Some(50),
        };
        assert_eq!(fates.blocks, BTreeMap::from([(&a, block)]));
    }

    #[test]
    fn f8_what_was_set_aside_and_stays_makes_its_key_due() {
        let a = key("a");
        let stays = failed(1, Some(&a), Next::Stay);
        let mut fates = Fates::default();
        fates.add(&stays, Place::Aside);
        assert!(fates.aside.is_empty());
        assert_eq!(fates.blocks[&a].delay, Some(0));
    }

    #[test]
    fn a_key_is_blocked_once_for_the_smallest_position_or_the_dead_letter() {
        let a = key("a");
        let b = key("b");
        let all = [
            failed(2, Some(&a), Next::Wait(20)),
            failed(1, Some(&a), Next::Wait(10)),
            failed(3, Some(&b), Next::Wait(30)),
            failed(4, Some(&b), die(AfterDeath::Hold)),
        ];
        let mut fates = Fates::default();
        for failed in &all {
            fates.add(failed, Place::Line);
        }
        assert_eq!(
            (fates.blocks[&a].position, fates.blocks[&a].delay),
            (1, Some(10))
        );
        assert_eq!(
            (fates.blocks[&b].position, fates.blocks[&b].delay),
            (4, None)
        );
    }

    #[test]
    fn o9_a_death_frees_the_key_it_waited_in_and_holds_only_if_it_says_so() {
        let a = key("a");
        let skips = failed(1, Some(&a), die(AfterDeath::Skip));
        let unkeyed = failed(2, None, die(AfterDeath::Hold));
        let mut fates = Fates::default();
        fates.add(&skips, Place::Aside);
        fates.add(&unkeyed, Place::Line);
        assert_eq!(positions(&fates.dead), [1, 2]);
        assert_eq!(fates.freed, [&a]);
        assert!(fates.blocks.is_empty());
    }
}
