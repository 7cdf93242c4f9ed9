//! Which confirmed messages came back. The broker sends a returned message before its confirmation, but the client gives
//! what came back to whichever confirmation it handles next: with many messages in flight that is often another message's.
//! Taken at its word, a message that nobody got would count as published. Here what came back is given to whom it belongs.

use std::{collections::HashMap, hash::Hash};

/// The confirmations of one channel, in batches: each batch has, in any order, whatever the client handled before any of its
/// confirmations and no batch before it had.
///
/// The client keeps what came back in a queue and takes one off at every confirmation. So a message that came back is taken
/// off by its own confirmation, or by an earlier one, or, if others stand before it in the queue, by a later one. Only in the
/// last case the batch of its own confirmation does not settle it: it took off another's. It then waits for more. A
/// confirmation that takes nothing off says that the queue is empty, and settles all that wait from batches before.
#[derive(Debug)]
pub(crate) struct Returns<K, T> {
    /// What was taken off for messages that are not confirmed yet, as often as it was.
    early: HashMap<K, Vec<Reason>>,
    /// Confirmed messages which may still have come back.
    waiting: Vec<(K, T)>,
}

/// What the broker says about a message that came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reason {
    pub(crate) code: u16,
    pub(crate) text: String,
}

/// A confirmation as the client tells of it.
#[derive(Debug)]
pub(crate) struct Confirmed<K, T> {
    pub(crate) key: K,
    pub(crate) message: T,
    /// What it took off the queue: a message that came back, this one or another.
    pub(crate) came_back: Option<(K, Reason)>,
}

/// A message about which it is known whether it came back.
pub(crate) type Settled<T> = (T, Option<Reason>);

impl<K: Eq + Hash, T> Returns<K, T> {
    pub(crate) fn new() -> Self {
        Self {
            early: HashMap::new(),
            waiting: Vec::new(),
        }
    }

    /// Takes a batch, and returns what is settled by it.
    pub(crate) fn take(&mut self, batch: Vec<Confirmed<K, T>>) -> Vec<Settled<T>> {
        let mut settled = Vec::with_capacity(batch.len());
        let mut queue_was_empty = false;
        let mut confirmed = Vec::with_capacity(batch.len());
        for Confirmed {
            key,
            message,
            came_back,
        } in batch
        {
            let took_nothing = came_back.is_none();
            queue_was_empty |= took_nothing;
            confirmed.push((key, message, took_nothing));
            let Some((key, reason)) = came_back else {
                continue;
            };
            match self.waiting.iter().position(|(waits, _)| *waits == key) {
                Some(at) => settled.push((self.waiting.swap_remove(at).1, Some(reason))),
                None => self.early.entry(key).or_default().push(reason),
            }
        }
        if queue_was_empty {
            settled.extend(self.idle());
        }
        for (key, message, took_nothing) in confirmed {
            match self.take_early(&key) {
                Some(reason) => settled.push((message, Some(reason))),
                None if took_nothing => settled.push((message, None)),
                None => self.waiting.push((key, message)),
            }
        }
        settled
    }

    /// Nothing is in flight any more, so nothing can have come back that was not told.
    pub(crate) fn idle(&mut self) -> Vec<Settled<T>> {
        let waiting = self.waiting.drain(..);
        waiting.map(|(_, message)| (message, None)).collect()
    }

    fn take_early(&mut self, key: &K) -> Option<Reason> {
        let reasons = self.early.get_mut(key)?;
        let reason = reasons.pop();
        if reasons.is_empty() {
            self.early.remove(key);
        }
        reason
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    const MESSAGES: [u32; 4] = [0, 1, 2, 3];

    fn reason() -> Reason {
        Reason {
            code: 312,
            text: "NO_ROUTE".to_owned(),
        }
    }

    /// Plays the client: what came back did so in this order, at the start or as late as it can; the messages are confirmed in
    /// the order of `acks`, and told in batches, backwards. A bit of `ends` says that a batch ends behind that confirmation.
    fn play(returned: &[u32], late: bool, acks: &[u32], ends: u32) -> Vec<(u32, bool)> {
        let mut came_back: VecDeque<u32> = returned.iter().copied().collect();
        let mut queue = VecDeque::new();
        let (mut returns, mut settled, mut batch) = (Returns::new(), Vec::new(), Vec::new());
        for (at, ack) in acks.iter().enumerate() {
            while came_back.contains(ack) || (!late && !came_back.is_empty()) {
                queue.extend(came_back.pop_front());
            }
            batch.push(Confirmed {
                key: *ack,
                message: *ack,
                came_back: queue.pop_front().map(|key| (key, reason())),
            });
            if ends & (1 << at) != 0 {
                batch.reverse();
                settled.extend(returns.take(std::mem::take(&mut batch)));
            }
        }
        settled.extend(returns.take(batch));
        settled.extend(returns.idle());
        assert!(returns.early.is_empty());
        let came_back = |(message, reason): (u32, Option<Reason>)| (message, reason.is_some());
        let mut settled: Vec<_> = settled.into_iter().map(came_back).collect();
        settled.sort_unstable();
        settled
    }

    #[test]
    fn d1_f5_however_confirmations_come_exactly_those_that_came_back_are_told_so() {
        let orders = permutations(&MESSAGES);
        for acks in &orders {
            for (some, order) in
                (0..16_u32).flat_map(|some| orders.iter().map(move |it| (some, it)))
            {
                let is_one = |message: &u32| some & (1 << message) != 0;
                let returned: Vec<u32> = order.iter().copied().filter(is_one).collect();
                let expected = MESSAGES.map(|message| (message, is_one(&message)));
                for (late, ends) in (0..8).flat_map(|ends| [(false, ends), (true, ends)]) {
                    assert_eq!(
                        play(&returned, late, acks, ends),
                        expected,
                        "{returned:?} late {late}, {acks:?} {ends:b}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_took_nothing_off_is_settled_at_once() {
        let confirmed = |key, came_back: Option<&'static str>| {
            vec![Confirmed {
                key,
                message: key,
                came_back: came_back.map(|key| (key, reason())),
            }]
        };
        let mut returns = Returns::new();
        assert_eq!(returns.take(confirmed("a", None)), [("a", None)]);
        let own = returns.take(confirmed("b", Some("b")));
        assert_eq!(own, [("b", Some(reason()))]);
        assert_eq!(returns.take(confirmed("c", Some("d"))), []);
        let both = returns.take(confirmed("d", None));
        assert_eq!(both, [("c", None), ("d", Some(reason()))]);
    }

    fn permutations(of: &[u32]) -> Vec<Vec<u32>> {
        let Some((first, rest)) = of.split_first() else {
            return vec![Vec::new()];
        };
        let mut all = Vec::new();
        for shorter in permutations(rest) {
            for at in 0..=shorter.len() {
                let mut longer = shorter.clone();
                longer.insert(at, *first);
                all.push(longer);
            }
        }
        all
    }
}
