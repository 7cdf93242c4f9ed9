//! A receiver of HTTP on real sockets, written for these tests so that it can misbehave: it reads requests by hand, keeps what it
//! accepted, and answers as it is told, with TLS on the same port.

use std::{
    collections::VecDeque,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
};
use tokio_rustls::TlsAcceptor;

/// Whose requests a receiver accepts.
pub(crate) const USER: &str = "outbox";

/// The password of every receiver that asks for one.
pub(crate) const PASSWORD: &str = "pass:w/rd@7";

/// `Basic` of the two.
const AUTHORIZATION: &str = "Basic b3V0Ym94OnBhc3M6dy9yZEA3";

/// A receiver on a port of its own, in tasks of the runtime that it was started in.
pub(crate) struct Receiver {
    state: Arc<State>,
    port: u16,
    listening: Option<JoinHandle<()>>,
}

/// What a receiver is like.
#[derive(Default)]
pub(crate) struct Rules {
    /// Whether it asks for [`USER`] and [`PASSWORD`].
    pub(crate) credentials: bool,
    /// The longest body that it takes.
    pub(crate) longest: Option<usize>,
    /// Whether it hangs up on a body that is too long, instead of letting it come.
    pub(crate) is_abrupt: bool,
    /// Who it is over TLS, if it speaks it.
    pub(crate) tls: Option<TlsAcceptor>,
}

/// One thing that it does instead of accepting a request.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends these bytes again and again, without an end.
    Drip(Vec<u8>),
    /// Does nothing more, and keeps the connection open.
    Wait,
    /// Closes the connection.
    Close,
}

/// A request as it came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// The path with the query.
    pub(crate) target: String,
    /// In the order of the wire.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Over which connection, counted from 0.
    pub(crate) connection: usize,
}

struct State {
    rules: Rules,
    accepted: Mutex<Vec<Seen>>,
    seen: Mutex<Vec<Seen>>,
    script: Mutex<VecDeque<Vec<Step>>>,
    connections: AtomicUsize,
    is_missing: AtomicBool,
    is_frozen: watch::Sender<bool>,
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send + Sync {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + Sync> Stream for S {}

impl Receiver {
    pub(crate) async fn start(rules: Rules) -> Self {
        let state = State {
            rules,
            accepted: Mutex::default(),
            seen: Mutex::default(),
            script: Mutex::default(),
            connections: AtomicUsize::new(0),
            is_missing: AtomicBool::new(false),
            is_frozen: watch::Sender::new(false),
        };
        let mut receiver = Self {
            state: Arc::new(state),
            port: 0,
            listening: None,
        };
        receiver.start_again().await;
        receiver
    }

    /// Listens again on the same port after [`kill`](Self::kill).
    pub(crate) async fn start_again(&mut self) {
        if self.listening.is_some() {
            return;
        }
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let listener = TcpListener::bind(address).await.unwrap();
        self.port = listener.local_addr().unwrap().port();
        let state = Arc::clone(&self.state);
        self.listening = Some(tokio::spawn(async move {
            // Dropping the set ends all connections with it.
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let number = state.connections.fetch_add(1, Ordering::SeqCst);
                connections.spawn(serve(Arc::clone(&state), stream, number));
                while connections.try_join_next().is_some() {}
            }
        }));
    }

    /// Ends with all connections, wherever they are. What was accepted is kept.
    pub(crate) async fn kill(&mut self) {
        if let Some(listening) = self.listening.take() {
            listening.abort();
            let _ = listening.await;
        }
    }

    pub(crate) fn freeze(&self, freeze: bool) {
        self.state.is_frozen.send_replace(freeze);
    }

    /// Removes what is published to, with all that arrived, or makes it again.
    pub(crate) fn remove(&self, remove: bool) {
        self.state.is_missing.store(remove, Ordering::SeqCst);
        if remove {
            locked(&self.state.accepted).clear();
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// What the next request meets, whatever it is; later calls are for later requests.
    pub(crate) fn script(&self, steps: impl Into<Vec<Step>>) {
        locked(&self.state.script).push_back(steps.into());
    }

    /// The same with one answer, sent as it stands here.
    pub(crate) fn answer(&self, text: &str) {
        self.script([Step::Send(text.as_bytes().to_vec())]);
    }

    /// What was accepted, in order.
    pub(crate) fn accepted(&self) -> Vec<Seen> {
        locked(&self.state.accepted).clone()
    }

    /// Every request that came, accepted or not.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        locked(&self.state.seen).clone()
    }

    /// How many connections were made.
    pub(crate) fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        if let Some(listening) = self.listening.take() {
            listening.abort();
        }
    }
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let (_, value) = headers.find(|(other, _)| other.eq_ignore_ascii_case(name))?;
        Some(value)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

async fn serve(state: Arc<State>, stream: TcpStream, number: usize) {
    let mut first = [0];
    let is_tls = stream.peek(&mut first).await.is_ok() && first[0] == 0x16;
    stream.set_nodelay(true).unwrap();
    let stream: Box<dyn Stream> = match &state.rules.tls {
        Some(tls) if is_tls => match tls.accept(stream).await {
            Ok(stream) => Box::new(stream),
            Err(_) => return,
        },
        // As servers do it that speak no TLS.
        None if is_tls => {
            let mut stream = stream;
            let _ = stream.write_all(&status(400)).await;
            return;
        }
        _ => Box::new(stream),
    };
    let mut connection = Connection {
        state,
        stream,
        buffer: Vec::new(),
        number,
    };
    // A connection that breaks has ended.
    while connection.answer_one().await.is_some() {}
}

struct Connection {
    state: Arc<State>,
    stream: Box<dyn Stream>,
    buffer: Vec<u8>,
    number: usize,
}

impl Connection {
    /// Reads a request and answers it. `None` when the connection is over.
    async fn answer_one(&mut self) -> Option<()> {
        let (mut seen, length) = self.head().await?;
        let longest = self.state.rules.longest.unwrap_or(usize::MAX);
        if length > longest {
            // As servers do it: answer before the body has come, and let it come all the same.
            self.send(&status(413)).await?;
            if self.state.rules.is_abrupt {
                return None;
            }
            self.body(length).await?;
            return Some(());
        }
        seen.body = self.body(length).await?;
        self.thawed().await;
        locked(&self.state.seen).push(seen.clone());
        let scripted = locked(&self.state.script).pop_front();
        if let Some(steps) = scripted {
            return self.follow(steps).await;
        }
        let status_code = self.judge(&seen);
        if status_code == 200 {
            locked(&self.state.accepted).push(seen);
        }
        self.send(&status(status_code)).await
    }

    fn judge(&self, seen: &Seen) -> u16 {
        let is_let_in = seen.header("authorization") == Some(AUTHORIZATION);
        if self.state.rules.credentials && !is_let_in {
            401
        } else if self.state.is_missing.load(Ordering::SeqCst) {
            404
        } else if seen.method == "OPTIONS" {
            204
        } else {
            let refused = seen.header("x-refuse");
            refused.map_or(200, |status| status.parse().unwrap())
        }
    }

    async fn follow(&mut self, steps: Vec<Step>) -> Option<()> {
        for step in steps {
            match step {
                Step::Send(bytes) => self.send(&bytes).await?,
                Step::Drip(bytes) => loop {
                    self.send(&bytes).await?;
                    tokio::time::sleep(Duration::from_millis(5)).await;
                },
                // Until the client gives up.
                Step::Wait => while self.more().await.is_some() {},
                Step::Close => return None,
            }
        }
        Some(())
    }

    async fn head(&mut self) -> Option<(Seen, usize)> {
        let end = loop {
            if let Some(end) = self.buffer.windows(4).position(|it| it == b"\r\n\r\n") {
                break end;
            }
            self.more().await?;
        };
        let head: Vec<u8> = self.buffer.drain(..end + 4).collect();
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let mut words = lines.next()?.split(' ');
        let seen = Seen {
            method: words.next()?.to_owned(),
            target: words.next()?.to_owned(),
            headers: lines
                .map(|line| {
                    let (name, value) = line.split_once(':').unwrap();
                    (name.to_owned(), value.trim().to_owned())
                })
                .collect(),
            body: Vec::new(),
            connection: self.number,
        };
        assert_eq!(words.next(), Some("HTTP/1.1"));
        assert_eq!(seen.header("transfer-encoding"), None);
        let length = seen.header("content-length");
        let length = length.map_or(0, |length| length.parse().unwrap());
        Some((seen, length))
    }

    async fn body(&mut self, length: usize) -> Option<Vec<u8>> {
        while self.buffer.len() < length {
            self.more().await?;
        }
        Some(self.buffer.drain(..length).collect())
    }

    async fn more(&mut self) -> Option<()> {
        self.thawed().await;
        let read = self.stream.read_buf(&mut self.buffer).await.ok()?;
        (read > 0).then_some(())
    }

    async fn send(&mut self, bytes: &[u8]) -> Option<()> {
        self.thawed().await;
        self.stream.write_all(bytes).await.ok()?;
        self.stream.flush().await.ok()
    }

    async fn thawed(&self) {
        let mut frozen = self.state.is_frozen.subscribe();
        let _ = frozen.wait_for(|frozen| !frozen).await;
    }
}

/// An answer with this status and a short body, if it may have one.
pub(crate) fn status(code: u16) -> Vec<u8> {
    let text = match code {
        204 => format!("HTTP/1.1 {code} x\r\n\r\n"),
        _ => format!("HTTP/1.1 {code} x\r\ncontent-length: 3\r\n\r\nok\n"),
    };
    text.into_bytes()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
