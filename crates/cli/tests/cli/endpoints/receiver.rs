//! An HTTP endpoint that takes everything and remembers it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// A request as it came.
#[derive(Debug, Clone)]
pub(super) struct Request {
    /// The line of the request and the headers.
    pub(super) head: String,
    pub(super) body: String,
}

/// It listens until the process ends.
pub(super) struct Receiver {
    port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Receiver {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let taken = Arc::clone(&requests);
        thread::spawn(move || {
            for connection in listener.incoming() {
                let taken = Arc::clone(&taken);
                thread::spawn(move || serve(&connection.unwrap(), &taken));
            }
        });
        Self { port, requests }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

/// Takes the requests of a connection one after the other until the client closes it.
fn serve(mut connection: &TcpStream, requests: &Mutex<Vec<Request>>) {
    let mut reader = BufReader::new(connection);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        let length = lines.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        let length = length.map_or(0, |(_, length)| length.parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let body = String::from_utf8(body).unwrap();
        requests.lock().unwrap().push(Request { head, body });
        connection
            .write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
            .unwrap();
    }
}
