//! A private Redis: what was written outlives a kill, and it freezes, asks for its password and speaks TLS.

use std::io::{Read, Write};
use std::mem::forget;
use std::path::Path;

use outbox_test_servers::{Redis, RedisOptions};

use crate::support::{self, Timeout, connect, tls, wait};

fn redis() -> Redis {
    Redis::start(RedisOptions::default()).expect("a Redis starts")
}

#[test]
fn what_was_answered_outlives_a_kill_and_a_stop_on_the_same_port() {
    let mut redis = redis();
    let url = redis.url();
    redis.redis_cli(&["SET", "kept", "one"]).unwrap();
    let first = redis.pid();
    redis.kill().unwrap();
    assert!(redis.redis_cli(&["PING"]).is_err());
    redis.start_again().unwrap();
    assert_eq!(redis.redis_cli(&["GET", "kept"]).unwrap(), "one");
    assert_ne!(redis.pid(), first);
    redis.stop().unwrap();
    assert_eq!(redis.pid(), None);
    redis.start_again().unwrap();
    assert_eq!(redis.redis_cli(&["GET", "kept"]).unwrap(), "one");
    assert_eq!(redis.url(), url);
}

#[test]
fn a_frozen_one_takes_connections_and_answers_when_it_is_thawed() {
    let redis = redis();
    redis.freeze().unwrap();
    let mut stream = connect(redis.port());
    stream.write_all(b"PING\r\n").unwrap();
    let mut answer = [0; 7];
    wait(&stream, Timeout::Short);
    assert!(stream.read_exact(&mut answer).is_err());
    redis.thaw().unwrap();
    wait(&stream, Timeout::Long);
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"+PONG\r\n");
}

#[test]
fn a_frozen_one_is_stopped_and_dropped() {
    let mut redis = redis();
    redis.freeze().unwrap();
    redis.stop().unwrap();
    redis.start_again().unwrap();
    redis.freeze().unwrap();
    let pid = redis.pid().unwrap();
    drop(redis);
    assert!(!support::lives(pid));
}

#[test]
fn a_password_is_asked_for_and_is_in_the_url() {
    let password = Some("p@ss \"w/ord".to_owned());
    let options = RedisOptions {
        password,
        ..RedisOptions::default()
    };
    let mut redis = Redis::start(options).unwrap();
    let port = redis.port();
    assert_eq!(
        redis.url(),
        format!("redis://:p%40ss%20%22w%2Ford@127.0.0.1:{port}")
    );
    assert_eq!(redis.redis_cli(&["PING"]).unwrap(), "PONG");
    let mut stranger = connect(port);
    stranger.write_all(b"PING\r\n").unwrap();
    let mut answer = [0; 7];
    stranger.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"-NOAUTH");
    redis.kill().unwrap();
    redis.start_again().unwrap();
}

#[test]
fn tls_is_spoken_on_a_second_port() {
    let tls_options = RedisOptions {
        tls: true,
        ..RedisOptions::default()
    };
    let redis = Redis::start(tls_options).unwrap();
    let url = redis.tls_url().unwrap();
    let port = url.strip_prefix("rediss://127.0.0.1:").unwrap();
    let mut stream = tls(connect(port.parse().unwrap()), redis.ca_file().unwrap());
    stream.write_all(b"PING\r\n").unwrap();
    let mut answer = [0; 7];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"+PONG\r\n");
    assert_eq!(redis.redis_cli(&["PING"]).unwrap(), "PONG");
}

#[test]
fn a_setting_holds_over_a_restart_and_a_wrong_one_is_told_in_its_words() {
    let options = |value: &str| RedisOptions {
        settings: vec![("maxmemory".into(), value.into())],
        ..RedisOptions::default()
    };
    let mut redis = Redis::start(options("8mb")).unwrap();
    redis.kill().unwrap();
    redis.start_again().unwrap();
    let set = redis.redis_cli(&["CONFIG", "GET", "maxmemory"]).unwrap();
    assert_eq!(set, "maxmemory\n8388608");
    let error = Redis::start(options("plenty")).unwrap_err();
    assert!(error.what.contains("plenty"), "{error}");
}

#[test]
fn what_a_killed_program_left_is_stopped_by_the_next_start() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("redis-left-behind");
    let left = support::leave_behind(
        "redis::what_a_killed_program_left_is_stopped_by_the_next_start",
        &folder,
        |folder| {
            let redis = Redis::start_in(folder, RedisOptions::default()).unwrap();
            let pid = redis.pid().unwrap();
            forget(redis);
            vec![pid]
        },
    );
    assert!(left.iter().all(|pid| support::lives(*pid)));
    let redis = Redis::start_in(&folder, RedisOptions::default()).unwrap();
    assert!(!left.iter().any(|pid| support::lives(*pid)));
    assert_eq!(redis.redis_cli(&["DBSIZE"]).unwrap(), "0");
}
