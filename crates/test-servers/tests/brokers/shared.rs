//! Servers that the tests of a program share: those of the variables, or private ones that end with the program.

use std::env;
use std::io::{BufRead, BufReader, Read, Write, stderr, stdin};
use std::process::{Command, Stdio, exit};

use outbox_test_servers::{Nats, Redis};

use crate::support::connect;

/// Tells this program, started again by a test, to share a server until its input ends.
const SHARE: &str = "OUTBOX_SHARE";

#[test]
fn all_that_share_one_get_the_same_url() {
    let redis = Redis::shared().unwrap();
    assert_eq!(redis.url(), Redis::shared().unwrap().url());
    let nats = Nats::shared().unwrap();
    assert_eq!(nats.url(), Nats::shared().unwrap().url());
    assert_ne!(redis.url(), nats.url());
}

#[test]
fn one_that_no_variable_names_ends_with_the_program() {
    if env::var_os(SHARE).is_some() {
        let shared = Redis::shared().unwrap();
        writeln!(stderr(), "\n{}", shared.url()).unwrap();
        stdin().read_to_end(&mut Vec::new()).unwrap();
        exit(0);
    }
    let mut program = Command::new(env::current_exe().unwrap());
    let name = "shared::one_that_no_variable_names_ends_with_the_program";
    program
        .args(["--exact", name, "--nocapture"])
        .env(SHARE, "1")
        .env_remove("OUTBOX_TEST_REDIS")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut program = program.spawn().unwrap();
    let lines = BufReader::new(program.stderr.take().unwrap()).lines();
    let port = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("redis://127.0.0.1:")?.parse().ok())
        .expect("it tells the URL");
    let mut stream = connect(port);
    stream.write_all(b"PING\r\n").unwrap();
    let mut answer = [0; 7];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"+PONG\r\n");
    drop(program.stdin.take());
    program.wait().unwrap();
    assert_eq!(stream.read(&mut answer).unwrap_or(0), 0, "it is closed");
}

#[test]
fn the_one_that_a_variable_names_is_taken() {
    if env::var_os(SHARE).is_some() {
        let shared = Redis::shared().unwrap();
        assert_eq!(shared.url(), "redis://elsewhere");
        return;
    }
    let mut program = Command::new(env::current_exe().unwrap());
    let name = "shared::the_one_that_a_variable_names_is_taken";
    program
        .args(["--exact", name])
        .env(SHARE, "1")
        .env("OUTBOX_TEST_REDIS", "redis://elsewhere");
    let output = program.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}
