//! Several relays at once, each a process, on one schema; and the demo, which has three of them.

use std::{
    process::{Child, Command},
    thread,
};

use crate::program::{Place, Ran, lines};

use super::main_job::assert_in_order;

#[test]
fn o3_four_relay_processes_publish_each_message_once_and_in_order() {
    let place = Place::on_postgres();
    place.run(&["migrate"], "").expect(0);
    place.run(&["save"], &lines(2_000, 40)).expect(0);
    let to = place.to_file();
    let relays: Vec<_> = (0..4)
        .map(|number| {
            let name = format!("relay-{number}");
            let batch = ["1", "5", "20", "100"][number];
            let args = [
                "relay",
                "--name",
                &name,
                "--to",
                &to,
                "--batch",
                batch,
                "--until-empty",
                "--json",
            ];
            place.program(&args).spawn().unwrap()
        })
        .collect();
    let reports: Vec<_> = relays
        .into_iter()
        .map(|relay| Ran::of(relay).expect(0).json())
        .collect();
    let published: u64 = reports
        .iter()
        .map(|report| report["published"].as_u64().unwrap())
        .sum();
    assert_eq!(published, 2_000);
    for report in reports {
        assert_eq!(report["store_errors"], 0, "{report}");
        assert_eq!(report["lost"], 0, "{report}");
    }
    assert_in_order(&place, 2_000, 40);
}

#[test]
fn the_demo_holds_every_promise_on_postgres_and_leaves_nothing() {
    let place = Place::on_postgres();
    let store = place.store();
    let schemas = || {
        let count = "select count(*) from pg_namespace where nspname like 'outbox_demo_%'";
        place.schema().session().number(count)
    };
    let demo = [
        "demo", "--store", &store, "--keys", "7", "--fail", "20", "--json",
    ];
    let mut args = demo.to_vec();
    args.extend(["--messages", "300"]);
    let verdict = place.run(&args, "").expect(0).json();
    for broken in ["precedence_broken", "lost", "never_committed", "altered"] {
        assert_eq!(verdict[broken], 0, "{verdict}");
    }
    assert_eq!(verdict["saved"], 270);
    assert_eq!(verdict["killed"], 1);
    assert_eq!(schemas(), 0);

    // Stopped in the middle it takes its schema away too.
    let mut args = demo.to_vec();
    args.extend(["--messages", "1000000"]);
    let demo = place.program(&args).spawn().unwrap();
    while schemas() == 0 {
        thread::yield_now();
    }
    terminate(&demo);
    Ran::of(demo).expect(1).says(&["stopped before its end"]);
    assert_eq!(schemas(), 0);
}

fn terminate(child: &Child) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    assert!(sent.success());
}
