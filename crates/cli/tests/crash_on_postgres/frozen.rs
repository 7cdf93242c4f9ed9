//! Case 12: a relay is frozen in the middle of a publish until its lease has ended, and goes on when another relay has its
//! messages.

use std::{
    io::{BufRead, BufReader, Read},
    process::Child,
    thread,
};

use serde_json::Value;

use crate::{program::Place, signal};

#[test]
fn case_12_a_relay_frozen_past_its_lease_changes_nothing_and_reports_what_it_lost() {
    let place = place();
    let frozen = start(
        &place,
        "frozen",
        &[
            "--lease",
            "4s",
            "--publish-timeout",
            "2500ms",
            "--renewal",
            "1s",
        ],
    );
    signal(&frozen.child, "-STOP");
    place.wait_for(|status| holders(status).is_empty());
    judge(&place, frozen);
}

/// Its clocks stand too, as those of a suspended machine may: it does not know that its lease has ended.
#[test]
fn case_12_a_relay_that_believes_in_its_lease_is_told_by_the_store() {
    let place = place();
    let frozen = start(&place, "frozen", &LONG);
    signal(&frozen.child, "-STOP");
    place.sql("update outbox_lane set lease_until = now() where holder is not null");
    judge(&place, frozen);
}

/// Nothing is waited for that takes so long.
const LONG: [&str; 4] = ["--lease", "1h", "--publish-timeout", "20m"];

/// Two messages of a key; the first is more than a pipe holds.
fn place() -> Place {
    let place = Place::on_postgres();
    place.run(&["migrate"], "").expect(0);
    let long = "x".repeat(400_000);
    let line = |id: &str, payload: &str| {
        format!(r#"{{"topic":"orders","id":"{id}","key":"k","payload_text":"{payload}"}}"#)
    };
    let lines = [line("first", &long), line("second", "")].join("\n");
    place.run(&["save"], &lines).expect(0);
    place
}

/// A relay that stands in the middle of a publish, because nobody reads.
struct Stuck {
    child: Child,
    begin: [u8; 1],
}

fn start(place: &Place, name: &str, options: &[&str]) -> Stuck {
    let mut child = place
        .program(&["relay", "--name", name, "--to", "stdout:", "--json"])
        .args(["--grace", "1s"])
        .args(options)
        .spawn()
        .unwrap();
    let mut begin = [0];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut begin)
        .unwrap();
    Stuck { child, begin }
}

/// The lease of the frozen relay has ended.
fn judge(place: &Place, mut frozen: Stuck) {
    let mut other = start(place, "other", &LONG);
    let held = place.status();
    assert_eq!(holders(&held), ["other"], "{held}");

    signal(&frozen.child, "-CONT");
    signal(&frozen.child, "-TERM");
    let report = report(&mut frozen.child);
    assert!(frozen.child.wait().unwrap().success());
    assert_eq!(report["lost"], 2, "{report}");
    for nothing in ["published", "retried", "dead", "released", "left_to_lease"] {
        assert_eq!(report[nothing], 0, "{nothing}: {report}");
    }
    let status = place.status();
    assert_eq!(holders(&status), ["other"], "{status}");
    let pending = &status["pending"];
    assert_eq!(
        (&pending["total"], &pending["retry"]),
        (&2.into(), &0.into())
    );
    assert_eq!(status["dead"], 0, "{status}");

    let mut out = other.child.stdout.take().unwrap();
    let reading = thread::spawn(move || {
        let mut bytes = other.begin.to_vec();
        out.read_to_end(&mut bytes).unwrap();
        bytes
    });
    place.wait_for(|status| status["pending"]["total"] == 0);
    signal(&other.child, "-TERM");
    let report = self::report(&mut other.child);
    assert!(other.child.wait().unwrap().success());
    assert_eq!(
        (&report["published"], &report["lost"]),
        (&2.into(), &0.into()),
        "{report}"
    );
    let published: Vec<Value> = reading
        .join()
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    let ids: Vec<&str> = published
        .iter()
        .map(|line| line["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["first", "second"]);
}

/// Who holds a lane at the moment.
fn holders(status: &Value) -> Vec<&str> {
    let lanes = status["lanes"].as_array().unwrap().iter();
    lanes
        .filter(|lane| lane["lease_ms"] != 0)
        .filter_map(|lane| lane["relay"].as_str())
        .collect()
}

/// What a relay says at its end, beside its log.
fn report(relay: &mut Child) -> Value {
    let log = BufReader::new(relay.stderr.take().unwrap());
    log.lines()
        .map(|line| line.unwrap())
        .find_map(|line| {
            let report: Value = serde_json::from_str(&line).ok()?;
            report.get("ended_by").is_some().then_some(report)
        })
        .expect("the relay reports")
}
