//! One connection through a proxy: two streams and what is passed between them, under rules that all connections share.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};

use super::locked;

/// How many bytes are passed on at once.
const PART: usize = 16 * 1024;

#[derive(Debug)]
pub(super) struct Link {
    client: TcpStream,
    server: TcpStream,
    cut: AtomicBool,
}

/// Why no more is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// One of the two went, or the link was cut.
    Alone,
    /// The bytes until the cut of all are used up.
    CutAll,
}

/// What holds back and what cuts, for all connections of a proxy.
#[derive(Debug, Default)]
pub(super) struct Rules {
    now: Mutex<Now>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Now {
    stalled: bool,
    /// What the server answers is held back.
    unanswered: bool,
    /// How many bytes to the server are left before all is cut.
    left: Option<u64>,
}

/// How many bytes of a chunk may pass, and whether all is cut then.
#[derive(Debug, PartialEq, Eq)]
struct Passing {
    bytes: usize,
    cut_all: bool,
}

impl Link {
    pub(super) fn new(client: TcpStream, server: TcpStream) -> io::Result<Self> {
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let cut = AtomicBool::new(false);
        Ok(Self {
            client,
            server,
            cut,
        })
    }

    /// Passes on what the client sends until one of the two goes, or a rule cuts.
    pub(super) fn upwards(&self, rules: &Rules) -> Ended {
        pass(&self.client, &self.server, |bytes| {
            rules.await_passing(self, |now| now.stalled, |now| now.take(bytes))
        })
    }

    /// Passes on what the server sends until one of the two goes.
    pub(super) fn downwards(&self, rules: &Rules) {
        pass(&self.server, &self.client, |bytes| {
            let held = |now: &Now| now.stalled || now.unanswered;
            rules.await_passing(self, held, |_| Passing::all(bytes))
        });
    }

    /// Cuts both directions. What the streams had not passed on is lost.
    pub(super) fn cut(&self, rules: &Rules) {
        self.cut.store(true, Ordering::SeqCst);
        rules.tell();
        for stream in [&self.client, &self.server] {
            // One that is closed already is cut.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Passes on what one stream sends, as far as it may pass, until one of the two goes.
fn pass(
    mut from: &TcpStream,
    mut to: &TcpStream,
    passing: impl Fn(usize) -> Option<Passing>,
) -> Ended {
    let mut chunk = vec![0; PART];
    while let Ok(count @ 1..) = from.read(&mut chunk) {
        let Some(passing) = passing(count) else {
            break;
        };
        let written = to.write_all(&chunk[..passing.bytes]);
        if passing.cut_all {
            return Ended::CutAll;
        }
        if written.is_err() {
            break;
        }
    }
    Ended::Alone
}

impl Rules {
    pub(super) fn stall(&self, stall: bool) {
        locked(&self.now).stalled = stall;
        self.tell();
    }

    pub(super) fn hold_answers(&self, hold: bool) {
        locked(&self.now).unanswered = hold;
        self.tell();
    }

    pub(super) fn cut_after(&self, bytes: u64) {
        locked(&self.now).left = Some(bytes);
    }

    /// Waits while it is held back, and decides then. A link that was cut meanwhile passes nothing.
    fn await_passing(
        &self,
        link: &Link,
        held: impl Fn(&Now) -> bool,
        decide: impl FnOnce(&mut Now) -> Passing,
    ) -> Option<Passing> {
        let mut now = locked(&self.now);
        loop {
            if link.cut.load(Ordering::SeqCst) {
                return None;
            }
            if !held(&now) {
                return Some(decide(&mut now));
            }
            now = self
                .changed
                .wait(now)
                .unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }

    /// Wakes up who waits. The lock keeps this from falling between his look and his sleep.
    fn tell(&self) {
        let _now = locked(&self.now);
        self.changed.notify_all();
    }
}

impl Now {
    /// Takes bytes to the server from those that are left.
    fn take(&mut self, bytes: usize) -> Passing {
        let Some(left) = self.left else {
            return Passing::all(bytes);
        };
        let wanted = u64::try_from(bytes).unwrap_or(u64::MAX);
        if wanted < left {
            self.left = Some(left - wanted);
            return Passing::all(bytes);
        }
        self.left = None;
        Passing {
            // Fewer than a chunk has.
            bytes: usize::try_from(left).unwrap_or(bytes),
            cut_all: true,
        }
    }
}

impl Passing {
    fn all(bytes: usize) -> Self {
        let cut_all = false;
        Self { bytes, cut_all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_pass_until_none_are_left_and_the_cut_comes_once() {
        let mut now = Now {
            left: Some(10),
            ..Now::default()
        };
        assert_eq!(now.take(4), Passing::all(4));
        let cut = |bytes| Passing {
            bytes,
            cut_all: true,
        };
        assert_eq!(now.take(7), cut(6));
        assert_eq!(now.take(7), Passing::all(7));
        now.left = Some(7);
        assert_eq!(now.take(7), cut(7));
    }
}
