//! A proxy in front of a server that answers with what it is told: cut, refused, stalled, and cut in the middle.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use outbox_test_servers::Proxy;

use crate::support::{Timeout, connect, wait};

/// A server that answers what it is told, and reports how many bytes each connection told it until its end.
fn echo() -> (u16, Receiver<usize>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let port = listener.local_addr().expect("it has one").port();
    let (send, told) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, send) = (stream.expect("a client"), send.clone());
            thread::spawn(move || {
                let (mut buffer, mut total) = ([0; 1024], 0);
                while let Ok(count @ 1..) = stream.read(&mut buffer) {
                    total += count;
                    let _ = stream.write_all(&buffer[..count]);
                }
                let _ = send.send(total);
            });
        }
    });
    (port, told)
}

fn proxy() -> (Proxy, Receiver<usize>) {
    let (port, told) = echo();
    (Proxy::start(port).expect("a proxy starts"), told)
}

fn answered(stream: &mut TcpStream, text: &[u8]) -> bool {
    let mut answer = vec![0; text.len()];
    stream.write_all(text).is_ok() && stream.read_exact(&mut answer).is_ok() && answer == text
}

/// Whether the other end has closed the connection, or closes it.
fn is_closed(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn a_cut_ends_the_connections_that_are_open_and_no_later_one() {
    let (proxy, told) = proxy();
    let mut streams = [connect(proxy.port()), connect(proxy.port())];
    assert!(streams.iter_mut().all(|stream| answered(stream, b"one")));
    proxy.cut();
    assert!(streams.iter_mut().all(is_closed));
    assert_eq!((told.recv(), told.recv()), (Ok(3), Ok(3)));
    assert!(answered(&mut connect(proxy.port()), b"two"));
    assert_eq!(proxy.accepted(), 3);
}

#[test]
fn refused_connections_are_refused_and_open_ones_stay() {
    let (proxy, _told) = proxy();
    let mut open = connect(proxy.port());
    assert!(answered(&mut open, b"one"));
    proxy.refuse(true);
    let refused = TcpStream::connect((Ipv4Addr::LOCALHOST, proxy.port())).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    assert!(answered(&mut open, b"two"));
    proxy.refuse(false);
    assert!(answered(&mut connect(proxy.port()), b"three"));
}

#[test]
fn a_stall_holds_everything_back_and_loses_nothing() {
    let (proxy, _told) = proxy();
    let mut old = connect(proxy.port());
    assert!(answered(&mut old, b"one"));
    proxy.stall(true);
    let mut new = connect(proxy.port());
    for stream in [&mut old, &mut new] {
        stream.write_all(b"two").unwrap();
        wait(stream, Timeout::Short);
        assert!(stream.read_exact(&mut [0; 3]).is_err());
        wait(stream, Timeout::Long);
    }
    proxy.stall(false);
    for stream in [&mut old, &mut new] {
        let mut answer = [0; 3];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"two");
    }
}

#[test]
fn a_stalled_proxy_is_cut_and_dropped() {
    let (proxy, _told) = proxy();
    proxy.stall(true);
    let mut streams = [connect(proxy.port()), connect(proxy.port())];
    for stream in &mut streams {
        stream.write_all(b"one").unwrap();
    }
    proxy.cut();
    drop(proxy);
    assert!(streams.iter_mut().all(is_closed));
}

#[test]
fn a_cut_after_some_bytes_comes_exactly_there_and_once() {
    let (proxy, told) = proxy();
    let mut other = connect(proxy.port());
    assert!(answered(&mut other, b"other"));
    proxy.cut_after(5);
    let mut stream = connect(proxy.port());
    assert!(answered(&mut stream, b"abc"));
    stream.write_all(b"defgh").unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(b"de".starts_with(&rest[..]), "{rest:?}");
    assert!(is_closed(&mut other));
    let mut counts = [told.recv().unwrap(), told.recv().unwrap()];
    counts.sort_unstable();
    assert_eq!(counts, [5, 5], "what the other told, and what was left");
    assert!(answered(&mut connect(proxy.port()), b"more than five"));
}

#[test]
fn one_that_leads_to_nobody_cuts_off_and_may_be_told_where_to_lead() {
    let proxy = Proxy::to_nobody().unwrap();
    assert!(is_closed(&mut connect(proxy.port())));
    let (port, _told) = echo();
    proxy.lead_to(port);
    assert!(answered(&mut connect(proxy.port()), b"one"));
}

#[test]
fn a_server_that_is_not_there_is_a_connection_cut_and_it_may_come_later() {
    let gone = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = gone.local_addr().unwrap().port();
    drop(gone);
    let proxy = Proxy::start(port).unwrap();
    assert!(is_closed(&mut connect(proxy.port())));
}
