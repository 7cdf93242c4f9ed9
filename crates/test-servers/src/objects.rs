//! What a Kafka writes to so that it outlives a kill: objects in the memory of this program, over as much of S3's protocol
//! as that server speaks. Nobody has to prove who he is, and no list is cut into pages.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::{Error, Result, os};

mod http;

use http::{Answer, Request};

/// The object that a server writes to first, before it stores records: it says which the last ones of each producer are.
const FIRST: &str = "/meta.json";
/// How long a server that goes on writing may pause.
const QUIET: Duration = Duration::from_millis(250);

/// The data of a Kafka. They are kept for as long as somebody has them: a server that is started again finds them.
#[derive(Clone, Debug)]
pub struct Objects(Arc<Listening>);

#[derive(Debug)]
struct Listening {
    port: u16,
    stock: Arc<Stock>,
    listener: Mutex<Option<(TcpListener, JoinHandle<()>)>>,
}

#[derive(Debug, Default)]
struct Stock {
    now: Mutex<Now>,
    changed: Condvar,
    ended: AtomicBool,
}

#[derive(Debug, Default)]
struct Now {
    objects: BTreeMap<String, Object>,
    /// How many were written, which tells one state of an object from another.
    written: u64,
    /// When something was asked for.
    last: Option<Instant>,
    /// Nothing new is begun.
    closed: bool,
}

#[derive(Debug)]
struct Object {
    bytes: Vec<u8>,
    tag: String,
}

impl Objects {
    /// Begins with none.
    ///
    /// # Errors
    ///
    /// The system has no free port.
    pub fn start() -> Result<Self> {
        let listening = Listening::start().map_err(|error| {
            let what = format!("objects cannot be served: {error}");
            Error::new(what, "run this again")
        })?;
        Ok(Self(Arc::new(listening)))
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.0.port)
    }

    /// Lets the server finish what it has begun to write, and begin nothing more. It would lose a record if it ended between
    /// writing that the record is there and writing the record, and believe its producer that it had come twice.
    pub(crate) fn settle(&self) {
        let stock = &self.0.stock;
        let mut now = stock.now();
        now.closed = true;
        while let Some(rest) = now.last.and_then(|last| QUIET.checked_sub(last.elapsed())) {
            let later = stock.changed.wait_timeout(now, rest);
            now = later.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes everything again, from a server that was started after the other one ended.
    pub(crate) fn open(&self) {
        self.0.stock.now().closed = false;
        self.0.stock.changed.notify_all();
    }
}

impl Listening {
    fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let stock = Arc::new(Stock::default());
        let (accepting, served) = (listener.try_clone()?, Arc::clone(&stock));
        let thread = thread::spawn(move || {
            for client in accepting.incoming() {
                if served.ended.load(Ordering::SeqCst) {
                    return;
                }
                let (Ok(client), served) = (client, Arc::clone(&served)) else {
                    continue;
                };
                // It ends with its client.
                thread::spawn(move || served.serve(&client));
            }
        });
        let listener = Mutex::new(Some((listener, thread)));
        Ok(Self {
            port,
            stock,
            listener,
        })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stock.ended.store(true, Ordering::SeqCst);
        self.stock.changed.notify_all();
        let listener = self.listener.get_mut();
        let listener = listener.unwrap_or_else(PoisonError::into_inner).take();
        if let Some((listener, thread)) = listener {
            os::stop_listening(listener);
            // If the thread still waits for a client, it is given one.
            let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
            let _ = thread.join();
        }
    }
}

impl Stock {
    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers one client until it goes.
    fn serve(&self, client: &TcpStream) {
        let mut reader = io::BufReader::new(client);
        while let Ok(Some(request)) = Request::read(&mut reader) {
            let Some(answer) = self.answer(request) else {
                return;
            };
            if answer.write(client).is_err() {
                return;
            }
        }
    }

    /// None to a client that is told nothing any more.
    fn answer(&self, request: Request) -> Option<Answer> {
        let mut now = self.now();
        if now.closed && request.method == "PUT" && request.path.ends_with(FIRST) {
            while now.closed && !self.ended.load(Ordering::SeqCst) {
                let opened = self.changed.wait(now);
                now = opened.unwrap_or_else(PoisonError::into_inner);
            }
            return None;
        }
        now.last = Some(Instant::now());
        Some(now.answer(request))
    }
}

impl Now {
    fn answer(&mut self, request: Request) -> Answer {
        match (&*request.method, request.parameter("list-type")) {
            ("PUT", _) => self.put(request),
            ("GET", Some(_)) => self.list(&request),
            ("GET", None) => match self.objects.get(&request.path) {
                Some(object) => Answer::object(&object.bytes, &object.tag),
                None => Answer::error(404, "NoSuchKey"),
            },
            _ => Answer::error(501, "NotImplemented"),
        }
    }

    /// Writes an object whole, if it is there, or is not there, as the client expects.
    fn put(&mut self, request: Request) -> Answer {
        let there = self.objects.get(&request.path);
        let tag = there.map(|object| &*object.tag);
        let is_new = request.header("if-none-match").is_none() || tag.is_none();
        let wanted = request.header("if-match");
        if !is_new || (wanted.is_some() && wanted != tag) {
            return Answer::error(412, "PreconditionFailed");
        }
        self.written += 1;
        let object = Object {
            bytes: request.body,
            tag: format!("\"{}\"", self.written),
        };
        let answer = Answer::object(&[], &object.tag);
        self.objects.insert(request.path, object);
        answer
    }

    /// Lists what is in a bucket and begins with a prefix.
    fn list(&self, request: &Request) -> Answer {
        let bucket = format!("{}/", request.path.trim_end_matches('/'));
        let begin = bucket.clone() + &request.parameter("prefix").unwrap_or_default();
        let found = self.objects.range(begin.clone()..);
        let mut list = String::from("<ListBucketResult><IsTruncated>false</IsTruncated>");
        for (path, object) in found.take_while(|(path, _)| path.starts_with(&begin)) {
            let (name, tag, size) = (&path[bucket.len()..], &object.tag, object.bytes.len());
            for part in [
                "<Contents><Key>",
                name,
                "</Key><LastModified>2026-01-01T00:00:00Z</LastModified><ETag>",
                tag,
                "</ETag><Size>",
                &size.to_string(),
                "</Size></Contents>",
            ] {
                list.push_str(part);
            }
        }
        list.push_str("</ListBucketResult>");
        Answer::text(200, list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(now: &mut Now, text: &str) -> String {
        let request = Request::read(&mut text.as_bytes()).unwrap().unwrap();
        let answer = now.answer(request);
        String::from_utf8(answer.bytes()).unwrap()
    }

    fn put(now: &mut Now, path: &str, header: &str) -> String {
        asked(
            now,
            &format!("PUT {path} HTTP/1.1\r\n{header}\r\nContent-Length: 2\r\n\r\nab"),
        )
    }

    #[test]
    fn an_object_is_written_only_over_what_its_writer_knows() {
        let mut now = Now::default();
        let taken = |answer: String| answer.starts_with("HTTP/1.1 200 ");
        assert!(!taken(put(&mut now, "/b/x", "If-Match: \"1\"")));
        assert!(taken(put(&mut now, "/b/x", "If-None-Match: *")));
        assert!(!taken(put(&mut now, "/b/x", "If-None-Match: *")));
        assert!(taken(put(&mut now, "/b/x", "If-Match: \"1\"")));
        assert!(!taken(put(&mut now, "/b/x", "If-Match: \"1\"")));
        let read = asked(&mut now, "GET /b/x HTTP/1.1\r\n\r\n");
        assert!(
            read.contains("ETag: \"2\"\r\n") && read.ends_with("\r\n\r\nab"),
            "{read}"
        );
        assert!(asked(&mut now, "GET /b/y HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    }

    #[test]
    fn a_list_has_what_begins_with_the_prefix_in_its_order() {
        let mut now = Now::default();
        for path in ["/b/k/2", "/b/k/1", "/b/l", "/c/k/3"] {
            put(&mut now, path, "If-None-Match: *");
        }
        let list = asked(&mut now, "GET /b?list-type=2&prefix=k%2F HTTP/1.1\r\n\r\n");
        let keys: Vec<_> = list.split("<Key>").skip(1).map(|rest| &rest[..3]).collect();
        assert_eq!(keys, ["k/1", "k/2"]);
        assert!(list.contains("<Size>2</Size>"), "{list}");
    }
}
