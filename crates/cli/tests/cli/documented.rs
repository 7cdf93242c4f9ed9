//! What `--json` prints is documented, member by member.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::Value;

use crate::program::{Place, lines};

fn names(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                into.insert(name.clone());
                names(value, into);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| names(value, into)),
        _ => {}
    }
}

#[test]
fn every_member_of_an_object_for_scripts_is_documented() {
    let place = Place::new();
    let mut found = BTreeSet::new();
    let mut run = |args: &[&str], input: &str| {
        let mut args = args.to_vec();
        args.push("--json");
        names(&place.run(&args, input).json(), &mut found);
    };
    let to = place.to_file();
    let hold = [
        "relay",
        "--to",
        &to,
        "--until-empty",
        "--after-death",
        "hold",
    ];
    run(&["migrate"], "");
    run(&["migrate", "--print"], "");
    run(&["migrate", "--files", "sqlx", "--dir", "migrations"], "");
    run(&["purge", "--dry-run"], "");
    run(&["save"], &lines(3, 1));
    run(&["save"], "{");
    place.sql("update outbox_message set headers = 'no json' where id = 'm-0'");
    place.sql("update outbox_lane set relay = 'gone', holder = 'gone'");
    run(&["pause", "mail", "--for", "1h"], "");
    run(&["topics"], "");
    run(&["resume", "mail"], "");
    run(&["check", "--to", &to, "--topic", "mail"], "");
    run(&["status"], "");
    run(&hold, "");
    run(&["status"], "");
    run(&["dead", "list"], "");
    run(&["dead", "show", "m-0"], "");
    run(&["dead", "redrive", "--all", "--dry-run"], "");
    run(&["dead", "discard", "--all"], "");
    run(&["replay", "--all", "--dry-run"], "");
    run(&["audit"], "");
    run(&["demo", "--messages", "1"], "");

    for seen in [
        "failed_line",
        "after_death",
        "lease_ms",
        "next_try_ms",
        "until_ms",
        "killed",
        "left_out",
        "ended_at_ms",
    ] {
        assert!(found.contains(seen), "{seen} is not among {found:?}");
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("\n## JSON\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let missing: Vec<&String> = found
        .iter()
        .filter(|name| !section.contains(&format!("`{name}`")))
        .collect();
    assert!(missing.is_empty(), "not documented: {missing:?}");
}
