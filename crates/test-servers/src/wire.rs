//! Asking a server over plain TCP whether it is there. No protocol is spoken beyond the first words.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

/// How long one answer is waited for; whoever waits for a server asks again.
const PATIENCE: Duration = Duration::from_secs(1);

/// Connects, says this, and tells whether what is answered is enough.
pub(crate) fn answers(port: u16, say: &[u8], enough: impl Fn(&[u8]) -> bool) -> bool {
    let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else {
        return false;
    };
    let set = stream.set_read_timeout(Some(PATIENCE));
    if set.and_then(|()| stream.write_all(say)).is_err() {
        return false;
    }
    let mut said = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        match stream.read(&mut chunk) {
            Ok(count @ 1..) => said.extend_from_slice(&chunk[..count]),
            _ => return false,
        }
        if enough(&said) {
            return true;
        }
    }
}

/// Tells whether somebody listens.
pub(crate) fn accepts(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

pub(crate) fn contains(said: &[u8], wanted: &str) -> bool {
    said.windows(wanted.len())
        .any(|window| window == wanted.as_bytes())
}
