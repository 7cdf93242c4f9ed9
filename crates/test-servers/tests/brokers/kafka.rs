//! A private Kafka: topics, a freeze, the port that it advertises, and what a kill takes away.

use std::io::{Read, Write};
use std::mem::forget;
use std::net::TcpStream;
use std::path::Path;

use outbox_test_servers::{Kafka, KafkaOptions, Objects, Proxy};

use crate::support::{self, Timeout, connect, wait};

fn kafka() -> Kafka {
    Kafka::start(KafkaOptions::default()).expect("a Kafka starts")
}

/// Asks for everything that is known about all topics, in the first form of this request, and returns the answer.
fn metadata(stream: &mut TcpStream) -> Vec<u8> {
    stream
        .write_all(b"\0\0\0\x0e\0\x03\0\x01ASK!\xff\xff\xff\xff\xff\xff")
        .expect("it listens");
    let mut length = [0; 4];
    stream.read_exact(&mut length).expect("it answers");
    let length = usize::try_from(u32::from_be_bytes(length)).expect("it is short");
    let mut answer = vec![0; length];
    stream.read_exact(&mut answer).expect("the answer is whole");
    assert!(answer.starts_with(b"ASK!"));
    answer
}

fn has(answer: &[u8], bytes: &[u8]) -> bool {
    answer.windows(bytes.len()).any(|window| window == bytes)
}

#[test]
fn a_topic_is_made_once() {
    let kafka = kafka();
    kafka.create_topic("orders", 3).unwrap();
    let answer = metadata(&mut connect(kafka.port()));
    assert!(has(&answer, b"orders\0\0\0\0\x03"), "{answer:?}");
    let error = kafka.create_topic("orders", 3).unwrap_err();
    assert!(error.what.contains("already exists"), "{error}");
}

#[test]
fn a_kill_and_a_stop_take_everything_away_and_the_port_stays() {
    let mut kafka = kafka();
    let url = kafka.url();
    kafka.create_topic("orders", 1).unwrap();
    kafka.kill().unwrap();
    assert!(kafka.create_topic("others", 1).is_err());
    kafka.start_again().unwrap();
    assert_eq!(kafka.url(), url);
    assert!(!has(&metadata(&mut connect(kafka.port())), b"orders"));
    kafka.create_topic("orders", 1).unwrap();
    kafka.stop().unwrap();
    assert_eq!(kafka.pid(), None);
    kafka.start_again().unwrap();
    assert!(!has(&metadata(&mut connect(kafka.port())), b"orders"));
}

#[test]
fn what_it_keeps_in_objects_outlives_a_kill_and_a_stop() {
    let objects = Some(Objects::start().unwrap());
    let mut kafka = Kafka::start(KafkaOptions {
        objects,
        ..KafkaOptions::default()
    })
    .unwrap();
    kafka.create_topic("orders", 1).unwrap();
    kafka.kill().unwrap();
    kafka.start_again().unwrap();
    assert!(has(&metadata(&mut connect(kafka.port())), b"orders"));
    kafka.create_topic("others", 1).unwrap();
    kafka.stop().unwrap();
    kafka.start_again().unwrap();
    let answer = metadata(&mut connect(kafka.port()));
    assert!(has(&answer, b"orders") && has(&answer, b"others"));
}

#[test]
fn a_frozen_one_keeps_its_connections_and_its_topics() {
    let kafka = kafka();
    kafka.create_topic("orders", 1).unwrap();
    let mut stream = connect(kafka.port());
    assert!(has(&metadata(&mut stream), b"orders"));
    kafka.freeze().unwrap();
    wait(&stream, Timeout::Short);
    let ask = b"\0\0\0\x0a\0\x12\0\0WAIT\xff\xff";
    stream.write_all(ask).unwrap();
    assert!(stream.read_exact(&mut [0; 4]).is_err());
    kafka.thaw().unwrap();
    wait(&stream, Timeout::Long);
    let mut answer = [0; 8];
    stream.read_exact(&mut answer).unwrap();
    assert!(answer.ends_with(b"WAIT"));
    assert!(has(&metadata(&mut connect(kafka.port())), b"orders"));
}

#[test]
fn a_proxy_is_advertised_to_the_clients() {
    let proxy = Proxy::to_nobody().unwrap();
    let kafka = Kafka::start(KafkaOptions {
        advertised: Some(proxy.port()),
        ..KafkaOptions::default()
    })
    .unwrap();
    proxy.lead_to(kafka.port());
    assert_ne!(proxy.port(), kafka.port());
    assert_eq!(kafka.url(), format!("kafka://127.0.0.1:{}", proxy.port()));
    let port = u32::from(proxy.port()).to_be_bytes();
    let address = [b"127.0.0.1".as_slice(), &port].concat();
    assert!(has(&metadata(&mut connect(kafka.port())), &address));
    assert!(has(&metadata(&mut connect(proxy.port())), &address));
    let accepted = proxy.accepted();
    kafka.create_topic("orders", 1).unwrap();
    assert_eq!(proxy.accepted(), accepted, "a topic is made without it");
    Kafka::create_topic_at(&kafka.url(), "others", 1).unwrap();
    assert!(proxy.accepted() > accepted);
}

#[test]
fn one_that_was_left_behind_is_stopped_by_the_next_start() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("left-kafka");
    let test = "kafka::one_that_was_left_behind_is_stopped_by_the_next_start";
    let pids = support::leave_behind(test, &folder, |folder| {
        let kafka = Kafka::start_in(folder, KafkaOptions::default()).unwrap();
        let pid = kafka.pid().unwrap();
        forget(kafka);
        vec![pid]
    });
    assert!(pids.iter().all(|pid| support::lives(*pid)));
    let kafka = Kafka::start_in(&folder, KafkaOptions::default()).unwrap();
    assert!(!pids.iter().any(|pid| support::lives(*pid)));
    drop(kafka);
}
