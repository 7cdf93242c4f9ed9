//! What the program says of itself.

use crate::program::Place;

const COMMANDS: [&[&str]; 18] = [
    &["migrate"],
    &["save"],
    &["relay"],
    &["dead"],
    &["dead", "list"],
    &["dead", "show"],
    &["dead", "redrive"],
    &["dead", "discard"],
    &["redrive"],
    &["check"],
    &["status"],
    &["topics"],
    &["pause"],
    &["resume"],
    &["purge"],
    &["replay"],
    &["audit"],
    &["demo"],
];

#[test]
fn every_command_has_an_example_and_its_exit_codes_in_its_help() {
    let place = Place::new();
    for command in COMMANDS {
        let mut args = command.to_vec();
        args.push("--help");
        let help = place.run(&args, "").expect(0).stdout;
        let example = format!("\n  outbox {}", command.join(" "));
        assert!(
            help.contains("Examples:") && help.contains(&example),
            "{help}"
        );
        assert!(help.contains("Exit codes"), "{help}");
        assert!(help.contains("--json"), "{help}");
    }
}

#[test]
fn the_programs_help_lists_every_command_and_every_exit_code() {
    let place = Place::new();
    let help = place.run(&["--help"], "").expect(0).stdout;
    for word in [
        "migrate",
        "save",
        "relay",
        "dead",
        "redrive",
        "check",
        "status",
        "topics",
        "pause",
        "resume",
        "purge",
        "replay",
        "audit",
        "demo",
        "Exit codes:",
        "  7  ",
        "RUST_LOG",
    ] {
        assert!(help.contains(word), "{word} is not in {help}");
    }
    let ran = place.run(&[], "").expect(2);
    assert!(ran.stderr.contains("Usage:"), "{ran:?}");
}

#[test]
fn the_sql_is_written_as_files_and_none_is_changed_that_is_there() {
    let place = Place::new();
    let write = |tool: &str| {
        let args = ["migrate", "--files", tool, "--dir", "migrations", "--json"];
        place.run(&args, "")
    };
    for tool in ["sqlx", "diesel"] {
        let files = write(tool).expect(0).json()["files"].clone();
        let first = files[0].as_str().unwrap();
        assert!(first.ends_with("up.sql"), "{files}");
        let sql = std::fs::read_to_string(place.path(first)).unwrap();
        assert!(sql.contains("CREATE TABLE outbox_message"));
        assert_eq!(write(tool).expect(0).json()["files"], files);
        std::fs::write(place.path(first), "-- mine").unwrap();
        write(tool).expect(2).says(&[first, "says something else"]);
        let kept = std::fs::read_to_string(place.path(first)).unwrap();
        assert_eq!(kept, "-- mine");
    }
    assert!(!place.path("orders.db").exists());
}

#[test]
fn the_sql_can_be_printed_without_a_store() {
    let place = Place::new();
    let sql = place.run(&["migrate", "--print"], "").expect(0).stdout;
    assert!(sql.contains("CREATE TABLE outbox_message"));
    assert!(!place.path("orders.db").exists());
    let json = place
        .run(&["migrate", "--print", "--json"], "")
        .expect(0)
        .json();
    assert!(json["sql"].as_str().unwrap().contains("CREATE TABLE"));
}
