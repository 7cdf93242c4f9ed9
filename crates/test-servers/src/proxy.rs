//! A TCP proxy in front of one port of this machine, which breaks connections as a network does.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::{Error, Result, os, port};

mod link;

use link::{Link, Rules};

/// How many free ports are tried, since somebody else may take one first.
const TRIES: usize = 10;

/// A port on which nobody can listen.
const NOBODY: u16 = 0;

/// A proxy on a port of its own. Dropping it cuts its connections and ends it.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    wire: Arc<Wire>,
    /// None while connections are refused.
    listening: Mutex<Option<Listening>>,
}

/// What the proxy does, and what it does it to.
#[derive(Debug)]
struct Wire {
    server: AtomicU16,
    rules: Rules,
    links: Mutex<Vec<Arc<Link>>>,
    accepted: Mutex<usize>,
}

#[derive(Debug)]
struct Listening {
    listener: TcpListener,
    ended: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Proxy {
    /// Starts a proxy that leads to this port of 127.0.0.1, whether somebody listens there yet or not.
    ///
    /// # Errors
    ///
    /// The system has no free port.
    pub fn start(server: u16) -> Result<Self> {
        let proxy = Self::to_nobody()?;
        proxy.lead_to(server);
        Ok(proxy)
    }

    /// Starts a proxy that cuts off whoever connects, until it is told where to lead: for a server that has to know the
    /// port of its proxy before its own is known, because it tells its clients where to connect.
    ///
    /// # Errors
    ///
    /// The system has no free port.
    pub fn to_nobody() -> Result<Self> {
        let wire = Arc::new(Wire {
            server: AtomicU16::new(NOBODY),
            rules: Rules::default(),
            links: Mutex::default(),
            accepted: Mutex::default(),
        });
        let (port, listening) = listen(&wire)?;
        Ok(Self {
            port,
            wire,
            listening: Mutex::new(Some(listening)),
        })
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Leads new connections to this port of 127.0.0.1. Those that are open stay where they are.
    pub fn lead_to(&self, server: u16) {
        self.wire.server.store(server, Ordering::SeqCst);
    }

    /// How many connections were accepted so far.
    pub fn accepted(&self) -> usize {
        *locked(&self.wire.accepted)
    }

    /// Cuts all connections now, in both directions. New ones are accepted.
    pub fn cut(&self) {
        self.wire.cut();
    }

    /// Refuses new connections, as a port where nobody listens, or accepts them again. Those that are open stay.
    ///
    /// # Panics
    ///
    /// Somebody else has taken the port meanwhile.
    pub fn refuse(&self, refuse: bool) {
        let mut listening = locked(&self.listening);
        if refuse {
            if let Some(listening) = listening.take() {
                listening.end(self.port);
            }
        } else if listening.is_none() {
            let again = Listening::start(self.port, &self.wire);
            *listening = Some(again.expect("nobody else takes the port of a proxy"));
        }
    }

    /// Passes nothing on in either direction, while connections stay open and new ones are accepted; or passes on all that
    /// was held back, and goes on.
    pub fn stall(&self, stall: bool) {
        self.wire.rules.stall(stall);
    }

    /// Passes on what clients send and holds back what the server answers; or passes on all that was held back, and goes on.
    pub fn hold_answers(&self, hold: bool) {
        self.wire.rules.hold_answers(hold);
    }

    /// Passes on so many bytes more from clients to the server, counted over all connections, and cuts all of them then,
    /// once.
    pub fn cut_after(&self, bytes: u64) {
        self.wire.rules.cut_after(bytes);
    }
}

/// Listens on a free port.
fn listen(wire: &Arc<Wire>) -> Result<(u16, Listening)> {
    let mut tries = 1;
    loop {
        let port = port::free(None)?;
        match Listening::start(port, wire) {
            Ok(listening) => return Ok((port, listening)),
            Err(error) if error.kind() == ErrorKind::AddrInUse && tries < TRIES => tries += 1,
            Err(error) => {
                return Err(Error::new(
                    format!("port {port}: {error}"),
                    "run this again",
                ));
            }
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(listening) = locked(&self.listening).take() {
            listening.end(self.port);
        }
        self.wire.cut();
    }
}

impl Wire {
    fn cut(&self) {
        for link in locked(&self.links).drain(..) {
            link.cut(&self.rules);
        }
    }

    /// Leads a client to the server, unless there is none: then the client is cut off.
    fn lead(self: &Arc<Self>, client: TcpStream) {
        *locked(&self.accepted) += 1;
        let server = self.server.load(Ordering::SeqCst);
        let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, server)) else {
            return;
        };
        let Ok(link) = Link::new(client, server) else {
            return;
        };
        let link = Arc::new(link);
        locked(&self.links).push(Arc::clone(&link));
        let (wire, up) = (Arc::clone(self), Arc::clone(&link));
        // Both end when the link is cut, at the latest when the proxy is dropped.
        thread::spawn(move || {
            if up.upwards(&wire.rules) == link::Ended::CutAll {
                wire.cut();
            }
            wire.forget(&up);
        });
        let wire = Arc::clone(self);
        thread::spawn(move || {
            link.downwards(&wire.rules);
            wire.forget(&link);
        });
    }

    fn forget(&self, link: &Arc<Link>) {
        link.cut(&self.rules);
        locked(&self.links).retain(|other| !Arc::ptr_eq(other, link));
    }
}

impl Listening {
    fn start(port: u16, wire: &Arc<Wire>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let accepting = listener.try_clone()?;
        let (ended, wire) = (Arc::new(AtomicBool::new(false)), Arc::clone(wire));
        let told = Arc::clone(&ended);
        let thread = thread::spawn(move || {
            for client in accepting.incoming() {
                if told.load(Ordering::SeqCst) {
                    return;
                }
                if let Ok(client) = client {
                    wire.lead(client);
                }
            }
        });
        Ok(Self {
            listener,
            ended,
            thread,
        })
    }

    fn end(self, port: u16) {
        self.ended.store(true, Ordering::SeqCst);
        os::stop_listening(self.listener);
        // If the thread still waits for a client, it is given one.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, port));
        let _ = self.thread.join();
    }
}

/// Nothing that is guarded here is left half changed by a panic.
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
