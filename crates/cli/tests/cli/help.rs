//! What the program says of itself.

use crate::program::Place;

const COMMANDS: [&[&str]; 10] = [
    &["migrate"],
    &["save"],
    &["relay"],
    &["dead"],
    &["dead", "list"],
    &["dead", "show"],
    &["dead", "redrive"],
    &["dead", "discard"],
    &["status"],
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
        "status",
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
