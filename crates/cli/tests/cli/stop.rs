//! How a relay ends when it is told to, and when its reader goes away.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
};

use crate::program::{Place, Ran, lines};

#[cfg(unix)]
fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}

#[cfg(unix)]
#[test]
fn d4_a_signal_stops_a_relay_gracefully_and_no_lease_is_left() {
    for name in ["-TERM", "-INT"] {
        let place = Place::migrated();
        place.run(&["save"], &lines(50, 5)).expect(0);
        let relay = place
            .program(&["relay", "--to", &place.to_file(), "--json"])
            .spawn()
            .unwrap();
        place.wait_for(|status| status["pending"]["total"] == 0);
        signal(&relay, name);
        let report = Ran::of(relay).expect(0).json();
        assert_eq!(report["ended_by"], "signal");
        assert_eq!(report["published"], 50);
        assert_eq!(report["left_to_lease"], 0);
        assert_eq!(place.status()["lanes"].as_array().unwrap().len(), 0);
    }
}

#[cfg(unix)]
#[test]
fn d1_a_second_signal_stops_at_once_and_nothing_is_lost() {
    let place = Place::migrated();
    // More than a pipe holds, so that the relay stands in the middle of a write when nobody reads.
    let long = "x".repeat(40_000);
    let input: Vec<String> = (0..20)
        .map(|n| format!(r#"{{"topic":"t","id":"m-{n}","payload_text":"{long}"}}"#))
        .collect();
    let input = input.join("\n");
    place.run(&["save"], &input).expect(0);
    let mut relay = place
        .program(&["relay", "--to", "stdout:", "--grace", "1h", "--lease", "1s"])
        .spawn()
        .unwrap();
    let mut logs = BufReader::new(relay.stderr.take().unwrap());
    let mut out = relay.stdout.take().unwrap();
    // It writes: it has claimed, and the rest does not fit.
    out.read_exact(&mut [0; 1]).unwrap();
    signal(&relay, "-TERM");
    let mut line = String::new();
    while !line.contains("a second signal stops at once") {
        line.clear();
        assert_ne!(logs.read_line(&mut line).unwrap(), 0);
    }
    signal(&relay, "-TERM");
    // Read to its end only now: whoever holds the pipe full must not keep the program.
    assert_eq!(relay.wait().unwrap().code(), Some(143));
    drop(out);

    place
        .run(
            &[
                "relay",
                "--to",
                &place.to_file(),
                "--until-empty",
                "--lease",
                "1s",
            ],
            "",
        )
        .expect(0);
    let mut ids: Vec<String> = place
        .published()
        .iter()
        .map(|line| line["id"].to_string())
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 20);
}

#[test]
fn a_relay_whose_reader_has_gone_ends_with_7_and_loses_nothing() {
    let place = Place::migrated();
    place.run(&["save"], &lines(30, 3)).expect(0);
    let mut relay = place
        .program(&["relay", "--to", "stdout:"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(relay.stdout.take());
    let ran = Ran::of(relay).expect(7);
    ran.says(&["error: ", "nobody reads stdout: any more"]);
    let status = place.status();
    assert_eq!(status["pending"]["total"], 30);
    assert_eq!(status["dead"], 0);
    assert_eq!(status["lanes"].as_array().unwrap().len(), 0, "{status}");
    place
        .run(&["relay", "--to", &place.to_file(), "--until-empty"], "")
        .expect(0);
    assert_eq!(place.published().len(), 30);
}

#[test]
fn a_command_whose_reader_has_gone_ends_with_7() {
    let place = Place::migrated();
    let mut status = place.program(&["status"]).spawn().unwrap();
    drop(status.stdout.take());
    assert_eq!(Ran::of(status).expect(7).stderr, "");
}
