//! Throwaway clusters on the Postgres of this machine: stopped and started, set, pooled, and left behind.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

use outbox_test_servers::{Cluster, Options, PgBouncer, Postgres};

/// Tells this program, started again by a test, to leave a server behind in that folder.
const LEAVE_IN: &str = "OUTBOX_LEAVE_IN";

fn cluster() -> Cluster {
    Postgres::find()
        .and_then(|postgres| postgres.start(Options::default()))
        .expect("a cluster starts")
}

/// A new base folder, so that nobody else starts a cluster there.
fn own_base(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn data_folder(cluster: &Cluster) -> String {
    let answer = cluster.sql("postgres", "SHOW data_directory");
    answer.expect("the server answers")
}

/// Says whether the server with this data folder answers there; somebody else may have taken the port.
fn answers(url: &str, data: &str) -> bool {
    let postgres = Postgres::find().expect("it was found before");
    postgres
        .sql(url, "SHOW data_directory")
        .is_ok_and(|folder| folder == data)
}

#[test]
fn what_was_committed_is_there_after_a_fast_and_after_an_immediate_stop() {
    let mut cluster = cluster();
    let count = |cluster: &Cluster| {
        cluster
            .sql("postgres", "SELECT count(*) FROM kept")
            .unwrap()
    };
    let (port, first) = (cluster.port(), cluster.pid().unwrap());
    let data = data_folder(&cluster);
    cluster
        .sql("postgres", "CREATE TABLE kept AS SELECT 1 AS one")
        .unwrap();
    cluster.stop_fast().unwrap();
    assert_eq!(cluster.pid(), None);
    assert!(!answers(&cluster.url("postgres"), &data));
    cluster.start().unwrap();
    assert_eq!(count(&cluster), "1");
    let second = cluster.pid().unwrap();
    assert_ne!(second, first);
    cluster
        .sql("postgres", "INSERT INTO kept VALUES (2)")
        .unwrap();
    cluster.stop_immediate().unwrap();
    cluster.start().unwrap();
    assert_eq!(count(&cluster), "2");
    assert_eq!(cluster.port(), port);
    let log = fs::read_to_string(cluster.log()).unwrap();
    assert!(log.contains("automatic recovery in progress"), "{log}");
}

#[test]
fn a_dropped_cluster_is_gone_and_its_log_is_not() {
    let cluster = cluster();
    let (data, url, log) = (
        data_folder(&cluster),
        cluster.url("postgres"),
        cluster.log(),
    );
    assert!(Path::new(&data).is_dir());
    drop(cluster);
    assert!(!answers(&url, &data));
    assert!(!Path::new(&data).exists());
    assert!(log.is_file());
}

#[test]
fn two_clusters_at_once_are_two() {
    let (one, two) = (cluster(), cluster());
    one.sql("postgres", "CREATE DATABASE here").unwrap();
    assert!(two.sql("here", "SELECT 1").is_err());
    assert_eq!(one.sql("here", "SELECT 1").unwrap(), "1");
}

#[test]
fn a_setting_holds_over_a_restart() {
    let settings = vec![("work_mem".to_owned(), "7MB".to_owned())];
    let postgres = Postgres::find().unwrap();
    let mut cluster = postgres.start(Options { settings }).unwrap();
    let work_mem = |cluster: &Cluster| cluster.sql("postgres", "SHOW work_mem").unwrap();
    assert_eq!(work_mem(&cluster), "7MB");
    cluster.stop_fast().unwrap();
    cluster.start().unwrap();
    assert_eq!(work_mem(&cluster), "7MB");
}

#[test]
fn a_setting_that_the_server_refuses_is_told_in_its_words() {
    let settings = vec![("work_mem".to_owned(), "plenty".to_owned())];
    let postgres = Postgres::find().unwrap();
    let error = postgres.start(Options { settings }).unwrap_err();
    assert!(error.what.contains("invalid value"), "{error}");
}

#[test]
fn a_pooler_gives_two_clients_the_same_session() {
    let (postgres, cluster) = (Postgres::find().unwrap(), cluster());
    let pooler = PgBouncer::start(&cluster, 1).unwrap();
    let session = |url: &str| postgres.sql(url, "SELECT pg_backend_pid()").unwrap();
    let through = pooler.url("postgres");
    assert_eq!(session(&through), session(&through));
    let direct = cluster.url("postgres");
    assert_ne!(session(&direct), session(&direct));
    let mode = postgres
        .sql(&pooler.url("pgbouncer"), "SHOW CONFIG")
        .unwrap();
    assert!(mode.contains("pool_mode|transaction"), "{mode}");
}

#[test]
fn what_a_killed_program_left_is_stopped_by_the_next_start() {
    if let Some(folder) = env::var_os(LEAVE_IN) {
        let folder = PathBuf::from(folder);
        let cluster = Postgres::find_in(&folder)
            .unwrap()
            .start(Options::default())
            .unwrap();
        let pooler = PgBouncer::start(&cluster, 1).unwrap();
        cluster
            .sql("postgres", "CREATE TABLE left_behind ()")
            .unwrap();
        let left = format!("{}\n{}", cluster.url("postgres"), pooler.url("postgres"));
        fs::write(folder.join("left"), left).unwrap();
        exit(0); // Nothing is dropped.
    }
    let folder = own_base("left-behind");
    let this = env::current_exe().unwrap();
    let name = "what_a_killed_program_left_is_stopped_by_the_next_start";
    let mut killed = Command::new(this);
    killed.args(["--exact", name]).env(LEAVE_IN, &folder);
    let output = killed.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let left = fs::read_to_string(folder.join("left")).unwrap();
    let postgres = Postgres::find_in(&folder).unwrap();
    let runs = |url: &str| postgres.sql(url, "TABLE left_behind").is_ok();
    assert!(left.lines().all(runs));
    let cluster = postgres.start(Options::default()).unwrap();
    assert!(!left.lines().any(runs));
    assert_eq!(cluster.sql("postgres", "SELECT 1").unwrap(), "1");
}

#[test]
fn a_template_that_is_broken_or_of_another_version_is_made_anew() {
    let folder = own_base("broken");
    let postgres = Postgres::find_in(&folder).unwrap();
    drop(postgres.start(Options::default()).unwrap());
    let entries = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let template = entries
        .filter(|path| path.is_dir())
        .find(|path| path.join("PG_VERSION").is_file())
        .unwrap();

    let control = template.join("global/pg_control");
    File::options()
        .write(true)
        .open(&control)
        .unwrap()
        .set_len(0)
        .unwrap();
    drop(postgres.start(Options::default()).unwrap());
    assert_ne!(fs::metadata(&control).unwrap().len(), 0);

    fs::write(template.join("PG_VERSION"), "9.1\n").unwrap();
    drop(postgres.start(Options::default()).unwrap());
    let version = fs::read_to_string(template.join("PG_VERSION")).unwrap();
    assert_eq!(
        version.trim(),
        postgres.version().split('.').next().unwrap()
    );
}
