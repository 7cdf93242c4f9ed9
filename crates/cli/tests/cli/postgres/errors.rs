//! A server or a schema that cannot be used: a clear error each, its exit code, and no password anywhere.

use std::net::TcpListener;

use crate::program::{Place, lines};

/// Every command that opens a store, with what else it needs.
const COMMANDS: [&[&str]; 6] = [
    &["migrate"],
    &["save"],
    &["status"],
    &["relay", "--to", "stdout:", "--until-empty"],
    &["dead", "list"],
    &["dead", "redrive", "--all"],
];

const SECRET: &str = "s3cr3t";

/// Runs every command but the first `but` on this store.
fn every_command_fails(place: &Place, but: usize, store: &str, code: i32, words: &[&str]) {
    for command in &COMMANDS[but..] {
        for json in [false, true] {
            let mut args = command.to_vec();
            args.extend(["--store", store]);
            if json {
                args.push("--json");
            }
            let ran = place.run(&args, &lines(1, 1)).expect(code);
            ran.says(words);
            assert!(!format!("{ran:?}").contains(SECRET), "{ran:?}");
        }
    }
}

/// The URL of the test server with another role, password and database.
fn url_with(place: &Place, user: &str, database: &str) -> String {
    let url = place.store();
    let (_, rest) = url.split_once("://").unwrap();
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    let host = rest.split(['/', '?']).next().unwrap();
    format!("postgres://{user}@{host}/{database}")
}

#[test]
fn a_schema_without_the_outbox_names_the_command_that_makes_it() {
    let place = Place::on_postgres();
    let migrate = format!("--schema '{}'", place.schema().name);
    let words = [
        "no outbox tables in the schema",
        "outbox migrate --store 'postgres://***@",
        &migrate,
    ];
    every_command_fails(&place, 1, &place.store(), 4, &words);
}

#[test]
fn a_server_that_does_not_run_is_told_with_its_address() {
    let place = Place::on_postgres();
    // Nobody listens on a port that was just given back.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let store = format!("postgres://me:{SECRET}@127.0.0.1:{port}/shop");
    let address = format!("127.0.0.1:{port} cannot be reached");
    every_command_fails(&place, 0, &store, 5, &[&address, "check host and port"]);
}

#[test]
fn a_server_that_does_not_answer_is_not_waited_for_without_end() {
    let place = Place::on_postgres();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let store = format!(
        "postgres://me:{SECRET}@{}/shop",
        silent.local_addr().unwrap()
    );
    let args = ["status", "--store", &store, "--busy-timeout", "200ms"];
    let ran = place.run(&args, "").expect(5);
    ran.says(&["does not answer", "--busy-timeout"]);
}

#[test]
fn a_database_that_is_not_there_is_named() {
    let place = Place::on_postgres();
    let store = url_with(&place, &format!("postgres:{SECRET}"), "no_such_shop");
    every_command_fails(&place, 0, &store, 4, &["has no database no_such_shop"]);
}

#[test]
fn a_role_that_is_not_there_is_named() {
    let place = Place::on_postgres();
    let store = url_with(&place, &format!("nobody_of_the_cli:{SECRET}"), "postgres");
    every_command_fails(
        &place,
        0,
        &store,
        4,
        &["refused the role nobody_of_the_cli or its password"],
    );
}

#[test]
fn another_schema_version_is_refused_by_every_command() {
    let place = Place::on_postgres();
    place.run(&["migrate"], "").expect(0);
    place.sql("update schema_version set version = 99");
    let words = ["version 99", "newer version of this program"];
    every_command_fails(&place, 0, &place.store(), 4, &words);
}

#[test]
fn a_role_without_grants_is_told_what_it_may_not_do() {
    let place = Place::on_postgres();
    place.run(&["migrate"], "").expect(0);
    let role = format!("cli_{}", std::process::id());
    place.schema().sql(&format!("create role {role} login"));
    let store = url_with(&place, &role, "postgres");
    let database = place.store();
    let database = database
        .rsplit('/')
        .next()
        .unwrap()
        .split('?')
        .next()
        .unwrap();
    let store = store.replace("/postgres", &format!("/{database}"));
    for command in &COMMANDS[1..] {
        let mut args = command.to_vec();
        args.extend(["--store", &store]);
        place
            .run(&args, &lines(1, 1))
            .expect(4)
            .says(&["role may not", "grants"]);
    }
    place.schema().sql(&format!("drop role {role}"));
}

#[test]
fn a_url_that_cannot_be_read_is_refused_without_showing_it() {
    let place = Place::on_postgres();
    for url in [
        format!("postgres://me:{SECRET}/x@db/shop"),
        format!("postgres://db/shop?pasword={SECRET}"),
        format!("mysql://me:{SECRET}@db/shop"),
    ] {
        every_command_fails(&place, 0, &url, 2, &["store"]);
    }
}
