//! What operators do.

use super::{Fault, Model};
use crate::state::{State, Step, step};

impl<K: Ord + Clone, I: Eq + Clone> Model<K, I> {
    /// Makes the dead letter at a position pending again, its counts reset (O9). The one that holds
    /// its key keeps its position and so goes first; any other goes to the tail, at a position that
    /// a later claim tells.
    ///
    /// # Errors
    /// [`Fault::Unknown`] or [`Fault::NotPossible`] if there is no dead letter at this position.
    pub fn redrive(&mut self, position: i64) -> Result<(), Fault> {
        let index = self.index(position).ok_or(Fault::Unknown { position })?;
        let state = self.messages[index].state;
        step(state, Step::Redrive).map_err(|_| Fault::NotPossible { position, state })?;
        self.take(index, Step::Redrive);
        let holds_key = self.unblock(index, position);
        self.born += 1;
        let message = &mut self.messages[index];
        message.attempts = 0;
        message.tries = 0;
        message.due = 0;
        message.in_line = true;
        if !holds_key {
            message.position = None;
            message.born = self.born;
        }
        Ok(())
    }

    /// Drops the message at a position. The dead letter that holds its key lets the key go on (O9).
    ///
    /// # Errors
    /// [`Fault::Unknown`] or [`Fault::NotPossible`] if there is nothing to drop.
    pub fn discard(&mut self, position: i64) -> Result<(), Fault> {
        let index = self.index(position).ok_or(Fault::Unknown { position })?;
        let state = self.messages[index].state;
        step(state, Step::Discard).map_err(|_| Fault::NotPossible { position, state })?;
        self.take(index, Step::Discard);
        if state == State::Dead {
            self.unblock(index, position);
        } else {
            self.loosen(index, position);
        }
        Ok(())
    }

    /// Makes a key that waits for a retry due now. Returns whether it did wait for one.
    pub fn retry_now(&mut self, key: &K) -> bool {
        let now = self.now;
        match self
            .blocks
            .get_mut(key)
            .and_then(|block| block.until.as_mut())
        {
            Some(until) if *until > now => {
                *until = now;
                true
            }
            _ => false,
        }
    }

    /// Ends the block by a dead letter that holds its key. Returns whether it did hold it.
    fn unblock(&mut self, index: usize, position: i64) -> bool {
        let Some(key) = &self.messages[index].key else {
            return false;
        };
        let holds = self
            .blocks
            .get(key)
            .is_some_and(|block| block.until.is_none() && block.position == position);
        if holds {
            self.blocks.remove(key);
        }
        holds
    }
}
