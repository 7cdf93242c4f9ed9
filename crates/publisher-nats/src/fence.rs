//! Keeping a relay that lost its lease from publishing after the one that has it. Pure decisions; asking is elsewhere.
//!
//! Every fenced message carries the epoch of the lease under which it was sent, and is stored only if the subject's last
//! message still is the one that its sender saw: one of an epoch no later than its own. So the epochs of the messages of a
//! subject never fall: once a later lease has stored one, what an earlier lease sent, however late it arrives, is refused.

use outbox_message::{Lane, LaneToken};

/// The header with the lane and the epoch of the lease.
pub(crate) const HEADER: &str = "Outbox-Fence";

/// A subject's last message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Last {
    /// Its number in the stream.
    pub(crate) sequence: u64,
    /// What its header says.
    pub(crate) mark: Option<Mark>,
}

/// Under which lease a message was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    lane: Lane,
    pub(crate) epoch: i64,
}

impl Mark {
    pub(crate) fn of(token: &LaneToken) -> Self {
        Self {
            lane: token.lane,
            epoch: token.epoch,
        }
    }

    /// The value of the header.
    pub(crate) fn text(self) -> String {
        format!("{}.{}", self.lane, self.epoch)
    }

    /// Reads a message's header block, as a server gives it out.
    pub(crate) fn find(block: &str) -> Option<Self> {
        let mut pairs = block.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = pairs.find(|(name, _)| *name == HEADER)?;
        let (lane, epoch) = value.trim().split_once('.')?;
        Some(Self {
            lane: Lane(lane.parse().ok()?),
            epoch: epoch.parse().ok()?,
        })
    }
}

/// The sequence to expect of a subject, 0 if it has no message; or the later lease that has published there.
///
/// Epochs of different lanes say nothing about each other: the number of lanes was changed, which happens while nothing is
/// published. A message without a mark comes from before the fence was used.
pub(crate) fn expect(last: Option<&Last>, ours: Mark) -> Result<u64, Mark> {
    let Some(last) = last else {
        return Ok(0);
    };
    match last.mark {
        Some(mark) if mark.lane == ours.lane && mark.epoch > ours.epoch => Err(mark),
        _ => Ok(last.sequence),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(lane: u16, epoch: i64) -> Mark {
        Mark {
            lane: Lane(lane),
            epoch,
        }
    }

    fn last(mark: Option<Mark>) -> Last {
        Last { sequence: 7, mark }
    }

    #[test]
    fn only_a_later_lease_of_the_lane_is_in_the_way() {
        let ours = mark(3, 12);
        let expect = |last: Last| super::expect(Some(&last), ours);
        assert_eq!(super::expect(None, ours), Ok(0));
        assert_eq!(expect(last(None)), Ok(7));
        assert_eq!(expect(last(Some(mark(3, 11)))), Ok(7));
        assert_eq!(expect(last(Some(mark(3, 12)))), Ok(7));
        assert_eq!(expect(last(Some(mark(3, 13)))), Err(mark(3, 13)));
        assert_eq!(expect(last(Some(mark(4, 13)))), Ok(7));
    }

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        let block = format!(
            "NATS/1.0\r\nOutbox-Fencer: 1.1\r\n{HEADER}: {}\r\n\r\n",
            mark(3, 12).text()
        );
        assert_eq!(Mark::find(&block), Some(mark(3, 12)));
        for block in [
            "",
            "NATS/1.0\r\n\r\n",
            "NATS/1.0\r\nOutbox-Fence: 3\r\n\r\n",
        ] {
            assert_eq!(Mark::find(block), None, "{block:?}");
        }
    }
}
