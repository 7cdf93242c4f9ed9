//! A private NATS: what JetStream has confirmed outlives a kill, and it limits messages, asks for its password and speaks
//! TLS. Its protocol is text, which is spoken here by hand.

use std::io::{Read, Write};

use outbox_test_servers::{Nats, NatsOptions};

use crate::support::{Timeout, connect, read_line, tls, wait};

fn nats(options: NatsOptions) -> Nats {
    Nats::start(options).expect("a NATS starts")
}

/// Asks, and returns the answer's payload.
fn ask(port: u16, subject: &str, payload: &str) -> String {
    let mut stream = connect(port);
    assert!(read_line(&mut stream).starts_with("INFO "));
    let length = payload.len();
    let text = format!(
        "CONNECT {{\"verbose\":false}}\r\nSUB answers 1\r\nPUB {subject} answers {length}\r\n{payload}\r\n"
    );
    stream.write_all(text.as_bytes()).expect("it listens");
    assert!(read_line(&mut stream).starts_with("MSG answers 1 "));
    read_line(&mut stream)
}

/// Connects as somebody and returns what the server says to a ping.
fn ping(stream: &mut (impl Read + Write), user: &str) -> String {
    let text = format!("CONNECT {{\"verbose\":false{user}}}\r\nPING\r\n");
    stream.write_all(text.as_bytes()).expect("it listens");
    read_line(stream)
}

#[test]
fn what_was_confirmed_outlives_a_kill_and_a_stop_on_the_same_port() {
    let mut nats = nats(NatsOptions::default());
    let port = nats.port();
    let stream = r#"{"name":"EVENTS","subjects":["events.>"],"storage":"file"}"#;
    let made = ask(port, "$JS.API.STREAM.CREATE.EVENTS", stream);
    assert!(!made.contains("error"), "{made}");
    let first = ask(port, "events.one", "first");
    assert!(first.contains(r#""seq":1"#), "{first}");
    nats.kill().unwrap();
    nats.start_again().unwrap();
    assert_eq!(nats.port(), port);
    let second = ask(port, "events.one", "second");
    assert!(second.contains(r#""seq":2"#), "{second}");
    nats.stop().unwrap();
    nats.start_again().unwrap();
    let third = ask(port, "events.one", "third");
    assert!(third.contains(r#""seq":3"#), "{third}");
}

#[test]
fn a_frozen_one_takes_connections_and_answers_when_it_is_thawed() {
    let nats = nats(NatsOptions::default());
    nats.freeze().unwrap();
    let mut stream = connect(nats.port());
    wait(&stream, Timeout::Short);
    assert!(stream.read_exact(&mut [0; 4]).is_err());
    nats.thaw().unwrap();
    wait(&stream, Timeout::Long);
    assert!(read_line(&mut stream).starts_with("INFO "));
    assert_eq!(ping(&mut stream, ""), "PONG");
}

#[test]
fn the_largest_message_is_as_told() {
    let max_payload = Some(4096);
    let nats = nats(NatsOptions {
        max_payload,
        ..NatsOptions::default()
    });
    let info = read_line(&mut connect(nats.port()));
    assert!(info.contains(r#""max_payload":4096"#), "{info}");
    assert!(info.contains(r#""jetstream":true"#), "{info}");
}

#[test]
fn a_password_is_asked_for_and_is_in_the_url() {
    let password = Some("p@ss\"word".to_owned());
    let nats = nats(NatsOptions {
        password,
        ..NatsOptions::default()
    });
    let port = nats.port();
    assert_eq!(
        nats.url(),
        format!("nats://outbox:p%40ss%22word@127.0.0.1:{port}")
    );
    let told = |user: &str| {
        let mut stream = connect(port);
        read_line(&mut stream);
        ping(&mut stream, user)
    };
    assert_eq!(told(r#","user":"outbox","pass":"p@ss\"word""#), "PONG");
    assert!(told(r#","user":"outbox","pass":"wrong""#).starts_with("-ERR 'Authorization"));
    assert!(told("").starts_with("-ERR 'Authorization"));
}

#[test]
fn tls_is_spoken_on_the_same_port() {
    let nats = nats(NatsOptions {
        tls: true,
        ..NatsOptions::default()
    });
    let port = nats.port();
    assert_eq!(nats.tls_url().unwrap(), format!("tls://127.0.0.1:{port}"));
    let mut stream = connect(port);
    read_line(&mut stream);
    let mut stream = tls(stream, nats.ca_file().unwrap());
    assert_eq!(ping(&mut stream, ""), "PONG");
    let mut plain = connect(port);
    read_line(&mut plain);
    assert_eq!(ping(&mut plain, ""), "PONG");
}

#[test]
fn a_setting_that_the_server_refuses_is_told_in_its_words() {
    let settings = vec![("max_connections".to_owned(), "\"plenty\"".to_owned())];
    let error = Nats::start(NatsOptions {
        settings,
        ..NatsOptions::default()
    })
    .unwrap_err();
    assert!(error.what.contains("nats.conf:"), "{error}");
}
