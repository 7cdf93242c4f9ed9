//! The examples of the facade, run as programs: what they print is what their readers are told.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
};

#[test]
fn c1_the_quickstart_publishes_what_was_committed_and_nothing_else() {
    let ran = Command::new(env!("CARGO_BIN_EXE_quickstart"))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{told}");
    let published = String::from_utf8(ran.stdout).unwrap();
    let lines: Vec<&str> = published.lines().collect();
    // A third order was refused by the database, and its message with it.
    assert_eq!(lines.len(), 2, "{published}{told}");
    for key in ["1042", "1043"] {
        let has_key = |line: &&&str| line.contains(&format!(r#""key":"{key}""#));
        assert_eq!(lines.iter().filter(has_key).count(), 1, "{published}");
    }
}

#[test]
fn c1_the_examples_on_postgres_save_what_was_committed_and_nothing_else() {
    let server = "OUTBOX_TEST_POSTGRES";
    assert!(
        std::env::var_os(server).is_some(),
        "{server} names no server: run cargo xtask test"
    );
    for (program, publishes) in [
        (env!("CARGO_BIN_EXE_postgres_sqlx"), true),
        (env!("CARGO_BIN_EXE_diesel_async"), true),
        (env!("CARGO_BIN_EXE_diesel_sync"), false),
    ] {
        let ran = Command::new(program)
            .env_remove("DATABASE_URL")
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{told}");
        assert!(
            told.contains("the second order 1042 was refused, and so was its message: true"),
            "{told}"
        );
        let published = String::from_utf8_lossy(&ran.stdout);
        if publishes {
            assert_eq!(published.lines().count(), 2, "{published}{told}");
        } else {
            let pending = told.lines().filter(|line| line.starts_with("pending: "));
            assert_eq!(pending.count(), 2, "{told}");
        }
    }
}

#[test]
fn d4_the_service_publishes_an_order_and_at_sigterm_stops_with_its_report() {
    let folder = tempfile::tempdir().unwrap();
    let published = folder.path().join("published.ndjson");
    let mut service = Command::new(env!("CARGO_BIN_EXE_axum_service"))
        .args([folder.path().join("shop.db"), published.clone()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(service.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let address = first.strip_prefix("listening on ").unwrap();

    let refused = post(address, r#"{"totals":9900}"#);
    assert!(refused.starts_with("HTTP/1.1 422 "), "{refused}");
    let created = post(address, r#"{"total":9900}"#);
    assert!(created.starts_with("HTTP/1.1 200 "), "{created}");
    assert!(created.ends_with(r#"{"id":1,"total":9900}"#), "{created}");
    let line = first_line(&published, &mut service);
    assert!(line.contains(r#""topic":"orders","key":"1""#), "{line}");

    let pid = service.id().to_string();
    let killed = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    assert!(killed.success());
    let report: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(service.wait().unwrap().success(), "{report:?}");
    assert_eq!(report, ["published 1 released 0 left 0"]);
}

#[test]
fn the_consuming_service_bills_each_order_once_however_often_it_is_delivered_and_started() {
    let folder = tempfile::tempdir().unwrap();
    let order = |id: u32| {
        let data = format!(r#"{{"id":{id},"total":9900}}"#);
        format!(r#"{{"job":"urn:babel:orders:created","data":{data},"meta":{{"id":"m-{id}"}}}}"#)
    };
    let files = [
        folder.path().join("billing.db"),
        folder.path().join("in.db"),
    ];
    // The second time all of it comes again, and then one order more.
    for (deliveries, new) in [(&[1, 1, 2, 2][..], &[1, 2][..]), (&[1, 2, 1, 2, 3], &[3])] {
        let mut service = Command::new(env!("CARGO_BIN_EXE_inbox_service"))
            .args(&files)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = service.stdin.take().unwrap();
        for id in deliveries {
            writeln!(input, "{}", order(*id)).unwrap();
        }
        let mut lines = BufReader::new(service.stdout.take().unwrap()).lines();
        let billed = lines.by_ref().take(new.len()).map(Result::unwrap);
        let mut billed: Vec<String> = billed.collect();
        billed.sort();
        let expected = new.iter().map(|id| format!("billing order {id}"));
        assert_eq!(billed, expected.collect::<Vec<_>>());

        drop(input);
        let rest: Vec<String> = lines.map(Result::unwrap).collect();
        assert!(service.wait().unwrap().success(), "{rest:?}");
        assert_eq!(rest, [format!("handled {} dead 0", new.len())]);
    }
}

/// Sends an order and reads the whole answer.
fn post(address: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(
        stream,
        "POST /orders HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

/// Waits until the file has a whole line, as long as the service is alive.
fn first_line(file: &Path, service: &mut Child) -> String {
    loop {
        let text = fs::read_to_string(file).unwrap_or_default();
        if let Some((line, _)) = text.split_once('\n') {
            return line.to_owned();
        }
        assert_eq!(service.try_wait().unwrap(), None, "the service has ended");
        thread::yield_now();
    }
}
