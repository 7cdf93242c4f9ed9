//! A store or a destination that cannot be used: a clear error each, its exit code, and nothing lost.

use std::fs;

use crate::program::{Place, lines};

/// Every command that opens a store, with what else it needs.
const COMMANDS: [&[&str]; 5] = [
    &["save"],
    &["status"],
    &["relay", "--to", "stdout:", "--until-empty"],
    &["dead", "list"],
    &["dead", "redrive", "--all"],
];

fn every_command_fails(place: &Place, code: i32, words: &[&str]) {
    for command in COMMANDS {
        let ran = place.run(command, &lines(1, 1)).expect(code);
        ran.says(words);
        assert_eq!(ran.stdout, "", "{command:?}");
        let mut with_json = command.to_vec();
        with_json.push("--json");
        let ran = place.run(&with_json, "").expect(code);
        if command.contains(&"stdout:") {
            // Where messages go there is nothing else.
            assert_eq!(ran.stdout, "");
            assert!(
                ran.stderr.contains(&format!("\"exit_code\":{code}")),
                "{ran:?}"
            );
        } else {
            assert_eq!(ran.json()["exit_code"], code);
        }
    }
}

#[test]
fn a_store_that_is_not_there_is_not_made() {
    let place = Place::new();
    every_command_fails(
        &place,
        4,
        &["orders.db is not there", "outbox migrate --store sqlite:"],
    );
    assert!(!place.path("orders.db").exists());
}

#[test]
fn a_store_is_not_made_in_a_folder_that_is_not_there() {
    let place = Place::new();
    place
        .run(&["migrate", "--store", "sqlite:no/orders.db"], "")
        .expect(4)
        .says(&["no/orders.db", "folder is not there"]);
}

#[test]
fn a_directory_is_no_store() {
    let place = Place::new();
    fs::create_dir(place.path("orders.db")).unwrap();
    every_command_fails(&place, 4, &["orders.db is a directory"]);
    place
        .run(&["migrate"], "")
        .expect(4)
        .says(&["is a directory"]);
}

#[test]
fn a_file_that_is_no_database_is_left_alone() {
    let place = Place::new();
    let text = "this is a letter\n".repeat(200);
    fs::write(place.path("orders.db"), &text).unwrap();
    every_command_fails(&place, 4, &["orders.db", "not an SQLite database"]);
    place
        .run(&["migrate"], "")
        .expect(4)
        .says(&["not an SQLite database"]);
    assert_eq!(fs::read_to_string(place.path("orders.db")).unwrap(), text);
}

#[test]
fn a_read_only_store_is_refused() {
    let place = Place::migrated();
    place.run(&["save"], &lines(1, 1)).expect(0);
    let set_read_only = |read_only| {
        let mut permissions = fs::metadata(place.path("orders.db")).unwrap().permissions();
        permissions.set_readonly(read_only);
        fs::set_permissions(place.path("orders.db"), permissions).unwrap();
    };
    set_read_only(true);
    every_command_fails(&place, 4, &["orders.db is read-only", "writable"]);
    place
        .run(&["migrate"], "")
        .expect(4)
        .says(&["is read-only"]);
    set_read_only(false);
    assert_eq!(place.status()["pending"]["total"], 1);
}

#[test]
fn a_database_without_the_outbox_names_the_command_that_makes_it() {
    let place = Place::new();
    place.sql("pragma journal_mode = wal; create table customer (id integer)");
    let migrate = format!("outbox migrate --store {}", place.store());
    every_command_fails(&place, 4, &["has no outbox tables", &migrate]);
}

#[test]
fn an_error_of_the_database_that_will_not_pass_is_not_worth_trying_again() {
    let place = Place::migrated();
    place.sql(
        "create trigger audit before insert on outbox_message begin select raise(abort, 'not today'); end",
    );
    let ran = place.run(&["save", "--json"], &lines(1, 1)).expect(1);
    ran.says(&["not today"]);
    assert_eq!(ran.json()["exit_code"], 1);
}

#[test]
fn wrong_usage_is_an_object_too_with_json() {
    let place = Place::migrated();
    for (args, word) in [
        (&["status", "--jsn", "--json"][..], "--jsn"),
        (&["--json"], "subcommand"),
        (&["relay", "--json"], "--to <URL>"),
        (&["relay", "--json", "--lease", "soon"], "soon"),
    ] {
        let ran = place.run(args, "").expect(2);
        let told = ran.json();
        assert!(told["error"].as_str().unwrap().contains(word), "{told}");
        assert!(
            !told["error"].as_str().unwrap().starts_with("error"),
            "{told}"
        );
        assert!(told["hint"].as_str().unwrap().contains("--help"), "{told}");
        assert_eq!(told["exit_code"], 2);
        ran.says(&["error: ", word]);
    }
    let ran = place
        .run(
            &["relay", "--to", "stdout:", "--json", "--lease", "soon"],
            "",
        )
        .expect(2);
    assert_eq!(ran.stdout, "");
    ran.says(&["\"exit_code\":2"]);
}

#[test]
fn a_store_that_is_not_in_wal_mode_names_the_command_that_sets_it() {
    let place = Place::migrated();
    place.sql("pragma journal_mode = delete");
    every_command_fails(&place, 4, &["WAL", "outbox migrate"]);
    place.run(&["migrate"], "").expect(0);
    place.run(&["status"], "").expect(0);
}

#[test]
fn another_schema_version_is_refused_by_every_command() {
    let place = Place::migrated();
    place.sql("update outbox_schema_version set version = 99");
    every_command_fails(&place, 4, &["version 99", "newer version of this program"]);
    place.run(&["migrate"], "").expect(4).says(&["version 99"]);
}

#[test]
fn a_locked_store_says_so_and_nothing_is_lost() {
    let place = Place::migrated();
    place.run(&["save"], &lines(3, 1)).expect(0);
    place.with_sql("begin immediate", || {
        let ran = place
            .run(&["save", "--busy-timeout", "50ms", "--json"], &lines(1, 1))
            .expect(5);
        ran.says(&["locked by another", "--busy-timeout"]);
        assert_eq!(ran.json()["exit_code"], 5);
        place
            .run(&["dead", "redrive", "--all", "--busy-timeout", "50ms"], "")
            .expect(5)
            .says(&["locked by another"]);
    });
    assert_eq!(place.status()["pending"]["total"], 3);
    place.run(&["save"], &lines(1, 1)).expect(0);
}

#[test]
fn a_store_in_memory_is_refused_with_a_hint() {
    let place = Place::new();
    place
        .run(&["migrate", "--store", "sqlite::memory:"], "")
        .expect(2)
        .says(&["memory", "sqlite:orders.db"]);
}

#[test]
fn passwords_never_show() {
    let place = Place::migrated();
    let secret = "s3cr3t";
    let url = format!("mysql://me:{secret}@db/orders");
    let cut_short = format!("postgres://me:12/{secret}@db/orders");
    for args in [
        vec!["status", "--store", &url],
        vec!["status", "--json", "--store", &url],
        vec!["status", "--store", &cut_short],
        vec!["status", &url],
        vec!["relay", "--to", &url],
        vec!["relay", "--json", "--to", &url],
    ] {
        let ran = place.run(&args, "").expect(2);
        assert!(
            !ran.stderr.contains(secret) && !ran.stdout.contains(secret),
            "{ran:?}"
        );
        assert!(!ran.stderr.is_empty());
    }
    let mut help = place.program(&["relay", "--help"]);
    help.env("OUTBOX_STORE", &url).env("OUTBOX_TO", &url);
    let help = crate::program::Ran::of(help.spawn().unwrap()).expect(0);
    assert!(!help.stdout.contains(secret));
    place
        .run(&["status", "--store", &url], "")
        .expect(2)
        .says(&["scheme mysql", "sqlite:PATH", "postgres://"]);
}

#[test]
fn a_destination_that_cannot_be_used_is_refused_before_anything_is_claimed() {
    let place = Place::migrated();
    place.run(&["save"], &lines(2, 1)).expect(0);
    fs::create_dir(place.path("folder")).unwrap();
    for (to, code, word) in [
        ("file:folder", 6, "is a directory"),
        ("file:no/such/file", 6, "cannot be opened for appending"),
        (
            "file:orders.db",
            6,
            "holds something that outbox did not write",
        ),
        ("file:", 2, "has no path"),
        ("pulsar://localhost", 2, "scheme pulsar"),
    ] {
        place
            .run(&["relay", "--to", to, "--until-empty"], "")
            .expect(code)
            .says(&[word]);
    }
    let status = place.status();
    assert_eq!(status["pending"]["ready"], 2);
    assert_eq!(status["lanes"].as_array().unwrap().len(), 0);
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let place = Place::migrated();
    for args in [
        &[
            "relay",
            "--to",
            "stdout:",
            "--lease",
            "5s",
            "--publish-timeout",
            "5s",
        ][..],
        &["relay", "--to", "stdout:", "--batch", "0"],
        &["relay", "--to", "stdout:", "--lease", "soon"],
        &["save", "--key-field", "data"],
        &["dead", "redrive"],
        &["dead", "discard", "--all", "--topic", "t"],
        &["demo", "--fail", "100"],
        &["demo", "--messages", "0"],
    ] {
        let ran = place.run(args, "").expect(2);
        assert!(!ran.stderr.is_empty(), "{args:?}");
    }
}
