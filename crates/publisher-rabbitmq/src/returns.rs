//! Which confirmed messages came back. The broker sends a returned message before its confirmation, but the client gives
//! what came back to whichever confirmation it handles next: with many messages in flight that is often another message's.
//! Taken at its word, a message that nobody got would count as published. Here what came back is given to whom it belongs.

use std::collections::HashMap;

/// The confirmations of one channel, told in the order in which the client handles them.
///
/// The client keeps what came back in a queue and takes one off at every confirmation. So a message that came back is taken
/// off by its own confirmation, or by an earlier one, or, if others stand before it in the queue, by a later one. Only in the
/// last case its own confirmation does not settle it: it took off another's. It then waits for more. A confirmation that
/// takes nothing off says that the queue is empty and settles all that wait.
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

/// A message about which it is known whether it came back.
pub(crate) type Settled<T> = (T, Option<Reason>);

impl<K: Eq + std::hash::Hash, T> Returns<K, T> {
    pub(crate) fn new() -> Self {
        Self {
            early: HashMap::new(),
            waiting: Vec::new(),
        }
    }

    /// The message `key` was confirmed, and that took off what `came_back` names. What is settled by it is returned.
    pub(crate) fn confirmed(
        &mut self,
        key: K,
        message: T,
        came_back: Option<(K, Reason)>,
    ) -> Vec<Settled<T>> {
        let queue_is_empty = came_back.is_none();
        let mut settled = Vec::new();
        if let Some((other, reason)) = came_back {
            match self.waiting.iter().position(|(key, _)| *key == other) {
                Some(at) => settled.push((self.waiting.remove(at).1, Some(reason))),
                None => self.early.entry(other).or_default().push(reason),
            }
        }
        match self.take_early(&key) {
            Some(reason) => settled.push((message, Some(reason))),
            None => self.waiting.push((key, message)),
        }
        if queue_is_empty {
            settled.extend(self.idle());
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

    fn reason() -> Reason {
        Reason {
            code: 312,
            text: "NO_ROUTE".to_owned(),
        }
    }

    /// Plays the client: `returned` came back in this order, then the messages are confirmed in the order of `acks`.
    fn play(returned: &[u32], acks: &[u32]) -> Vec<(u32, bool)> {
        let mut queue: VecDeque<u32> = returned.iter().copied().collect();
        let mut returns = Returns::new();
        let mut settled = Vec::new();
        for ack in acks {
            let came_back = queue.pop_front().map(|key| (key, reason()));
            settled.extend(returns.confirmed(*ack, *ack, came_back));
        }
        settled.extend(returns.idle());
        assert!(returns.early.is_empty());
        let mut settled: Vec<_> = settled
            .into_iter()
            .map(|(message, reason)| (message, reason.is_some()))
            .collect();
        settled.sort_unstable();
        settled
    }

    #[test]
    fn f5_whatever_the_order_of_confirmations_exactly_those_that_came_back_are_told_so() {
        // All ways to confirm four messages of which any came back, in any order.
        let orders: Vec<Vec<u32>> = permutations(&[0, 1, 2, 3]);
        for acks in &orders {
            for some in 0..16_u32 {
                for order in &orders {
                    let returned: Vec<u32> = order
                        .iter()
                        .copied()
                        .filter(|n| some & (1 << n) != 0)
                        .collect();
                    let settled = play(&returned, acks);
                    let expected: Vec<_> = (0..4).map(|n| (n, some & (1 << n) != 0)).collect();
                    assert_eq!(
                        settled, expected,
                        "returned {returned:?}, confirmed {acks:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_took_nothing_off_is_settled_at_once() {
        let mut returns = Returns::new();
        assert_eq!(returns.confirmed("a", "a", None), [("a", None)]);
        let own = returns.confirmed("b", "b", Some(("b", reason())));
        assert_eq!(own, [("b", Some(reason()))]);
        assert_eq!(returns.confirmed("c", "c", Some(("d", reason()))), []);
        let both = returns.confirmed("d", "d", None);
        assert_eq!(both, [("d", Some(reason())), ("c", None)]);
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
