//! A standby follows, misses what it was stopped for, and is promoted.

use outbox_test_servers::{Cluster, Options, Postgres};

fn values(cluster: &Cluster) -> String {
    let sql = "SELECT string_agg(value::text, ' ' ORDER BY value) FROM saved";
    cluster.sql("postgres", sql).expect("it answers")
}

#[test]
fn a_standby_that_missed_the_last_commits_is_promoted_without_them() {
    let mut primary = Postgres::find().unwrap().start(Options::default()).unwrap();
    let save = |cluster: &Cluster, value: &str| {
        let sql = format!("INSERT INTO saved VALUES ({value})");
        cluster.sql("postgres", &sql)
    };
    primary
        .sql("postgres", "CREATE TABLE saved (value int)")
        .unwrap();
    let mut standby = Cluster::standby_of(&primary).unwrap();
    save(&primary, "1").unwrap();
    standby.catch_up_with(&primary).unwrap();
    assert_eq!(values(&standby), "1");
    assert!(save(&standby, "2").is_err(), "a standby takes no writes");

    standby.stop_fast().unwrap();
    save(&primary, "3").unwrap();
    primary.stop_immediate().unwrap();
    standby.start().unwrap();
    standby.promote().unwrap();
    save(&standby, "4").unwrap();
    assert_eq!(values(&standby), "1 4");
}
