//! A gate before a server that asks nobody who he is: it asks for a user and a password by SASL, mechanism PLAIN, as Kafka
//! does, and then passes everything on.

use std::{
    io::{self, Read, Write},
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

/// The user whom the gate lets in.
pub(crate) const USER: &str = "shop";
/// His password.
pub(crate) const PASSWORD: &str = "pass:w/rd@7";

const SASL_HANDSHAKE: i16 = 17;
const API_VERSIONS: i16 = 18;
const SASL_AUTHENTICATE: i16 = 36;

/// The code of an error: he is not the one he says he is.
const AUTHENTICATION_FAILED: i16 = 58;

pub(crate) struct Gate {
    port: u16,
    is_closed: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Gate {
    /// Opens a gate to this port of 127.0.0.1.
    pub(crate) fn to(server: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_closed = Arc::new(AtomicBool::new(false));
        let closed = Arc::clone(&is_closed);
        let thread = thread::spawn(move || {
            for client in listener.incoming() {
                if closed.load(Ordering::SeqCst) {
                    return;
                }
                // It ends with either side of its connection, and breaks off like a network if one breaks off.
                thread::spawn(move || client.and_then(|client| pass(client, server)));
            }
        });
        Self {
            port,
            is_closed,
            thread: Some(thread),
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.is_closed.store(true, Ordering::SeqCst);
        // Its thread waits for somebody.
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)));
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

fn pass(mut client: TcpStream, server: u16) -> io::Result<()> {
    let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, server))?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    if !lets_in(&mut client, &mut server)? {
        return Ok(());
    }
    let (mut back, mut forth) = (server.try_clone()?, client.try_clone()?);
    let answers = thread::spawn(move || {
        let ended = io::copy(&mut back, &mut forth);
        drop(forth.shutdown(Shutdown::Both));
        ended
    });
    let ended = io::copy(&mut client, &mut server);
    drop(server.shutdown(Shutdown::Both));
    drop(answers.join());
    ended.map(drop)
}

/// Speaks with the client until he is known. Before that he may ask which requests there are, which the server answers.
fn lets_in(client: &mut TcpStream, server: &mut TcpStream) -> io::Result<bool> {
    loop {
        let request = frame(client)?;
        let (kind, version) = (number(&request, 0), number(&request, 2));
        let mut answer = request[4..8].to_vec();
        match kind {
            API_VERSIONS => {
                send(server, &request)?;
                answer = frame(server)?;
            }
            SASL_HANDSHAKE => {
                answer.extend(0_i16.to_be_bytes());
                answer.extend(1_i32.to_be_bytes());
                answer.extend(5_i16.to_be_bytes());
                answer.extend(b"PLAIN");
            }
            SASL_AUTHENTICATE => {
                let said = format!("\0{USER}\0{PASSWORD}");
                let is_known = request.ends_with(said.as_bytes());
                let error = if is_known { 0 } else { AUTHENTICATION_FAILED };
                answer.extend(error.to_be_bytes());
                // No text, nothing to go on with, and, since version 1, no end of it.
                answer.extend((-1_i16).to_be_bytes());
                answer.extend(0_i32.to_be_bytes());
                if version > 0 {
                    answer.extend(0_i64.to_be_bytes());
                }
                send(client, &answer)?;
                return Ok(is_known);
            }
            _ => return Ok(false),
        }
        send(client, &answer)?;
    }
}

fn number(bytes: &[u8], at: usize) -> i16 {
    i16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn frame(from: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = usize::try_from(i32::from_be_bytes(length)).map_err(io::Error::other)?;
    let mut frame = vec![0; length];
    from.read_exact(&mut frame)?;
    Ok(frame)
}

fn send(to: &mut TcpStream, frame: &[u8]) -> io::Result<()> {
    let length = i32::try_from(frame.len()).map_err(io::Error::other)?;
    to.write_all(&length.to_be_bytes())?;
    to.write_all(frame)
}
