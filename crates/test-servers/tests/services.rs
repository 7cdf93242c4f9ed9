//! The servers for people: they run on, are found again, keep their data, and are stopped.

use std::fs;
use std::path::Path;

use outbox_test_servers::{Postgres, Services};

#[test]
fn services_outlive_their_start_keep_their_data_and_stop_when_told() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("services");
    let services = Services::find_in(&folder).unwrap();
    services.down().unwrap();
    let _ = fs::remove_dir_all(&folder);
    let postgres = Postgres::find_in(&folder).unwrap();
    assert!(services.status().is_empty());

    let up = services.up(&postgres).unwrap();
    let names: Vec<_> = up.iter().map(|service| service.name).collect();
    assert_eq!(names, ["postgres", "pgbouncer"]);
    assert_eq!(services.up(&postgres).unwrap(), up, "what runs is left");
    postgres
        .sql(&up[1].url, "CREATE TABLE kept AS SELECT 1 AS one")
        .unwrap();

    assert_eq!(services.down().unwrap(), up);
    assert!(services.status().is_empty());
    assert!(postgres.sql(&up[0].url, "SELECT 1").is_err());
    let again = services.up(&postgres).unwrap();
    let kept = postgres.sql(&again[0].url, "SELECT one FROM kept").unwrap();
    assert_eq!(kept, "1");
    services.down().unwrap();

    // Data of another version, or broken ones, are put aside, not lost.
    let data = services.folder().join("data");
    fs::write(data.join("PG_VERSION"), "9.1\n").unwrap();
    let new = services.up(&postgres).unwrap();
    assert!(postgres.sql(&new[0].url, "TABLE kept").is_err());
    services.down().unwrap();
    let old = services.folder().join("data.old");
    let version = fs::read_to_string(old.join("PG_VERSION")).unwrap();
    assert_eq!(version, "9.1\n");
    fs::write(data.join("global/pg_control"), "").unwrap();
    let new = services.up(&postgres).unwrap();
    assert_eq!(postgres.sql(&new[0].url, "SELECT 1").unwrap(), "1");
    services.down().unwrap();
    let control = fs::metadata(old.join("global/pg_control")).unwrap();
    assert_eq!(control.len(), 0);
}
