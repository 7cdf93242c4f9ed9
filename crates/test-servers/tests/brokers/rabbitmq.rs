//! A private RabbitMQ: what it has taken outlives a kill, two are two, and it sets off its alarm, freezes, asks for its
//! password and speaks TLS. It starts slowly, so each test looks at several things.

use std::io::{Read, Write};
use std::mem::forget;
use std::path::Path;

use outbox_test_servers::{RabbitMq, RabbitMqOptions, Redis, RedisOptions};

use crate::support::{self, Timeout, connect, tls, wait};

const HELLO: &[u8] = b"AMQP\0\0\x09\x01";
/// The first frame is of channel 0 and of the type for methods.
const FRAME: [u8; 3] = [1, 0, 0];

fn hello(stream: &mut (impl Read + Write)) {
    stream.write_all(HELLO).expect("it listens");
    let mut frame = [0; 3];
    stream.read_exact(&mut frame).expect("a frame comes");
    assert_eq!(frame, FRAME);
}

fn alarms(rabbitmq: &RabbitMq) -> String {
    rabbitmq
        .rabbitmqctl(&["eval", "rabbit_alarm:get_alarms()."])
        .expect("it answers")
}

#[test]
fn it_keeps_its_data_sets_off_its_alarm_and_freezes() {
    let mut rabbitmq = RabbitMq::start(RabbitMqOptions::default()).unwrap();
    let (url, port) = (rabbitmq.url(), rabbitmq.port());
    assert_eq!(url, format!("amqp://guest:guest@127.0.0.1:{port}"));
    let vhosts = |rabbitmq: &RabbitMq| rabbitmq.rabbitmqctl(&["list_vhosts", "--no-table-headers"]);
    rabbitmq.rabbitmqctl(&["add_vhost", "kept"]).unwrap();
    rabbitmq.kill().unwrap();
    assert!(vhosts(&rabbitmq).is_err());
    rabbitmq.start_again().unwrap();
    assert!(vhosts(&rabbitmq).unwrap().contains("kept"));
    rabbitmq.stop().unwrap();
    rabbitmq.start_again().unwrap();
    assert!(vhosts(&rabbitmq).unwrap().contains("kept"));
    assert_eq!(rabbitmq.url(), url);

    assert_eq!(alarms(&rabbitmq), "[]");
    rabbitmq.set_memory_alarm(true).unwrap();
    assert!(alarms(&rabbitmq).contains("memory"));
    rabbitmq.set_memory_alarm(false).unwrap();
    assert_eq!(alarms(&rabbitmq), "[]");

    rabbitmq.freeze().unwrap();
    let mut stream = connect(port);
    stream.write_all(HELLO).unwrap();
    wait(&stream, Timeout::Short);
    let mut frame = [0; 3];
    assert!(stream.read_exact(&mut frame).is_err());
    rabbitmq.thaw().unwrap();
    wait(&stream, Timeout::Long);
    stream.read_exact(&mut frame).unwrap();
    assert_eq!(frame, FRAME);
}

#[test]
fn two_at_once_are_two_with_their_own_passwords_settings_and_tls() {
    let options = RabbitMqOptions {
        password: Some("p@ss#\"word".to_owned()),
        tls: true,
        settings: vec![("channel_max".to_owned(), "8".to_owned())],
    };
    let one = RabbitMq::start(options).unwrap();
    let two = RabbitMq::start(RabbitMqOptions::default()).unwrap();
    one.rabbitmqctl(&["add_vhost", "here"]).unwrap();
    let vhosts = |rabbitmq: &RabbitMq| rabbitmq.rabbitmqctl(&["list_vhosts"]).unwrap();
    assert!(vhosts(&one).contains("here"));
    assert!(!vhosts(&two).contains("here"));

    let (port, url) = (one.port(), one.tls_url().unwrap());
    let user = "outbox:p%40ss%23%22word@127.0.0.1";
    assert_eq!(one.url(), format!("amqp://{user}:{port}"));
    one.rabbitmqctl(&["authenticate_user", "outbox", "p@ss#\"word"])
        .unwrap();
    assert!(
        one.rabbitmqctl(&["authenticate_user", "guest", "guest"])
            .is_err()
    );
    two.rabbitmqctl(&["authenticate_user", "guest", "guest"])
        .unwrap();
    let channels = one
        .rabbitmqctl(&["eval", "application:get_env(rabbit, channel_max)."])
        .unwrap();
    assert_eq!(channels, "{ok,8}");

    let port = url.strip_prefix(&format!("amqps://{user}:")).unwrap();
    hello(&mut tls(
        connect(port.parse().unwrap()),
        one.ca_file().unwrap(),
    ));
    hello(&mut connect(one.port()));
    assert_eq!((two.tls_url(), two.ca_file()), (None, None));
}

#[test]
fn what_a_killed_program_left_is_stopped_by_the_next_start() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rabbitmq-left-behind");
    let left = support::leave_behind(
        "rabbitmq::what_a_killed_program_left_is_stopped_by_the_next_start",
        &folder,
        |folder| {
            let rabbitmq = RabbitMq::start_in(folder, RabbitMqOptions::default()).unwrap();
            let names = folder.join("run-1/rabbitmq/epmd.pid");
            let names = std::fs::read_to_string(names).unwrap();
            let pid = rabbitmq.pid().unwrap();
            forget(rabbitmq);
            vec![pid, names.trim().parse().unwrap()]
        },
    );
    assert!(left.iter().all(|pid| support::lives(*pid)));
    // Any server will do.
    let redis = Redis::start_in(&folder, RedisOptions::default()).unwrap();
    assert!(!left.iter().any(|pid| support::lives(*pid)));
    drop(redis);
}
