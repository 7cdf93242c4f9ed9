//! When a lease can have ended, by the relay's two clocks (contract D2): the only use of a relay's own time.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio::time::Instant;

/// Where wall-clock time comes from.
#[derive(Clone)]
pub(crate) struct WallClock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl WallClock {
    pub(crate) fn new(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub(crate) fn now(&self) -> SystemTime {
        (self.0)()
    }
}

impl Default for WallClock {
    fn default() -> Self {
        Self::new(SystemTime::now)
    }
}

impl fmt::Debug for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WallClock")
    }
}

/// The moment before a lease was asked for, on both clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    monotonic: Instant,
    wall: SystemTime,
}

impl Asked {
    pub(crate) fn now(wall: &WallClock) -> Self {
        Self {
            monotonic: Instant::now(),
            wall: wall.now(),
        }
    }

    /// The lease that was asked for here. Both clocks were read before the store's own began to count,
    /// and a twentieth is kept back for clocks that run at different speeds.
    pub(crate) fn lease(self, lease: Duration) -> Lease {
        let usable = lease.saturating_sub(lease / 20);
        Lease {
            asked: self,
            ends: self.monotonic + usable,
            ends_wall: self.wall.checked_add(usable),
        }
    }
}

/// How long a lease may be used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lease {
    asked: Asked,
    /// By the monotonic clock, which stands still while the machine is suspended.
    ends: Instant,
    /// By the wall clock, which can be set; `None` if it cannot express the end, which then is no limit.
    ends_wall: Option<SystemTime>,
}

impl Lease {
    /// Whether it can have ended, by whichever clock says so first. A wall clock set back behind the asking proves nothing either way.
    pub(crate) fn is_over(&self, wall: &WallClock) -> bool {
        Instant::now() >= self.ends || self.ends_wall.is_some_and(|ends| wall.now() >= ends)
    }

    /// When it is over by the monotonic clock.
    pub(crate) fn ends(&self) -> Instant {
        self.ends
    }

    /// When it is to be renewed.
    pub(crate) fn renew_at(&self, renewal: Duration) -> Instant {
        self.asked.monotonic + renewal
    }
}
