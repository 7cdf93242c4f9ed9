//! The servers for people: they run on, are found again, keep their data, and are stopped.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use outbox_test_servers::{Kafka, Postgres, Service, Services};

fn find<'a>(services: &'a [Service], name: &str) -> &'a Service {
    let mut services = services.iter();
    services
        .find(|service| service.name == name)
        .expect("it runs")
}

/// Tells a Redis something and returns what it answers.
fn redis(services: &[Service], say: &str) -> String {
    let url = &find(services, "redis").url;
    let address = url.strip_prefix("redis://").expect("its URL says so");
    let mut stream = TcpStream::connect(address).expect("it listens");
    let asked = write!(stream, "{say}\r\nQUIT\r\n");
    let mut answer = String::new();
    let read = asked.and_then(|()| stream.read_to_string(&mut answer));
    read.expect("it answers and closes");
    answer
}

#[test]
fn services_outlive_their_start_keep_their_data_and_stop_when_told() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("services");
    let services = Services::find_in(&folder).unwrap();
    services.down().unwrap();
    let _ = fs::remove_dir_all(services.folder());
    services.down().unwrap();
    let postgres = Postgres::find_in(&folder).unwrap();
    assert!(services.status().is_empty());
    // Data of another version, or broken ones, are put aside, not lost.
    let (data, old) = (
        services.folder().join("data"),
        services.folder().join("data.old"),
    );
    fs::create_dir(&data).unwrap();
    fs::write(data.join("PG_VERSION"), "9.1\n").unwrap();

    let up = services.up(&postgres).unwrap();
    let version = fs::read_to_string(old.join("PG_VERSION")).unwrap();
    assert_eq!(version, "9.1\n");
    let names: Vec<_> = up.iter().map(|service| service.name).collect();
    assert_eq!(
        names,
        [
            "postgres",
            "pgbouncer",
            "rabbitmq",
            "nats",
            "redis",
            "kafka"
        ]
    );
    assert_eq!(services.up(&postgres).unwrap(), up, "what runs is left");
    postgres
        .sql(&up[1].url, "CREATE TABLE kept AS SELECT 1 AS one")
        .unwrap();
    redis(&up, "SET kept one");

    Kafka::create_topic_at(&find(&up, "kafka").url, "orders", 1).unwrap();

    assert_eq!(services.down().unwrap(), up);
    assert!(services.status().is_empty());
    assert!(postgres.sql(&up[0].url, "SELECT 1").is_err());
    let again = services.up(&postgres).unwrap();
    let kept = postgres.sql(&again[1].url, "SELECT one FROM kept").unwrap();
    assert_eq!(kept, "1");
    assert_eq!(redis(&again, "GET kept"), "$3\r\none\r\n+OK\r\n");
    services.down().unwrap();

    fs::write(data.join("global/pg_control"), "").unwrap();
    let new = services.up(&postgres).unwrap();
    assert!(postgres.sql(&new[0].url, "TABLE kept").is_err());
    services.down().unwrap();
    let control = fs::metadata(old.join("global/pg_control")).unwrap();
    assert_eq!(control.len(), 0);
}
