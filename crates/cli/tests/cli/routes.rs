//! Several destinations, and looking at them beforehand.

use serde_json::json;

use crate::program::Place;

const THREE: &str = concat!(
    r#"{"topic":"orders.created","id":"o-1","payload":1}"#,
    "\n",
    r#"{"topic":"orders.paid","id":"o-2","payload":2}"#,
    "\n",
    r#"{"topic":"mail","id":"m-1","payload":3}"#,
    "\n",
);

fn ids(place: &Place, file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(place.path(file)).unwrap_or_default();
    let lines = text.lines().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["id"].as_str().unwrap().to_owned()
    });
    let mut ids: Vec<String> = lines.collect();
    ids.sort();
    ids
}

#[test]
fn each_topic_goes_by_the_first_route_that_matches() {
    let place = Place::migrated();
    place.run(&["save"], THREE).expect(0);
    let relay = [
        "relay",
        "--until-empty",
        "--route=orders.created=file:created",
        "--route=orders.*=file:orders",
        "--route=*=file:rest",
    ];
    place.run(&relay, "").expect(0);
    assert_eq!(ids(&place, "created"), ["o-1"]);
    assert_eq!(ids(&place, "orders"), ["o-2"]);
    assert_eq!(ids(&place, "rest"), ["m-1"]);
}

#[test]
fn a_pending_topic_without_a_route_is_refused_at_the_start_or_left_as_chosen() {
    let place = Place::migrated();
    place.run(&["save"], THREE).expect(0);
    let mut relay = vec![
        "relay",
        "--route=orders.*=file:orders",
        "--for=2s",
        "--json",
    ];
    let refused = place.run(&relay, "").expect(2).json();
    assert_eq!(
        refused["error"],
        "no --route matches what is pending of mail"
    );
    assert!(!place.path("orders").exists() || ids(&place, "orders").is_empty());
    relay.push("--unmatched=leave");
    let report = place.run(&relay, "").expect(0).json();
    assert_eq!(
        (&report["published"], &report["dead"]),
        (&json!(2), &json!(0))
    );
    assert_eq!(place.status()["pending"]["total"], 1);
}

#[test]
fn a_destination_is_needed_and_a_route_and_to_exclude_each_other() {
    let place = Place::migrated();
    let missing = place.run(&["relay"], "").expect(2).stderr;
    for told in ["--to <URL>", "OUTBOX_STORE", "outbox.toml"] {
        assert!(missing.contains(told), "{missing}");
    }
    let both = ["relay", "--to=stdout:", "--route=*=stdout:"];
    let both = place.run(&both, "").expect(2).stderr;
    assert!(both.contains("cannot be used with"), "{both}");
}

#[test]
fn check_says_what_is_wrong_and_changes_nothing() {
    let place = Place::new();
    let wrong = place
        .run(&["check", "--to", &place.to_file()], "")
        .expect(4);
    assert!(wrong.stderr.contains("orders.db"), "{}", wrong.stderr);
    place.run(&["migrate"], "").expect(0);
    let check = ["check", "--to", &place.to_file(), "--topic=orders"];
    let right = place.run(&check, "").expect(0).stdout;
    assert!(right.contains("ok     topic orders, to"), "{right}");
    let routes = [
        "check",
        "--route=mail=file:mail",
        "--topic=orders",
        "--json",
    ];
    let wrong = place.run(&routes, "").expect(6).json();
    let topics = wrong["topics"].as_array().unwrap();
    assert_eq!(topics[0]["error"], json!(null));
    assert!(
        topics[1]["error"]
            .as_str()
            .unwrap()
            .contains("no route matches")
    );
}

#[test]
fn check_asks_a_destination_to_which_no_known_topic_goes_whether_it_answers() {
    let place = Place::migrated();
    let mail = format!("--route=mail={}", place.to_file());
    let rest = "--route=*=redis://127.0.0.1:1";
    let args = ["check", &mail, rest, "--route=sms=redis://127.0.0.1:1"];
    let told = place.run(&[&args[..2], &["--json"]].concat(), "").expect(0);
    assert_eq!(told.json()["topics"].as_array().unwrap().len(), 1);
    let told = place.run(&[&args[..3], &["--json"]].concat(), "").expect(6);
    let topics = &told.json()["topics"];
    assert_eq!(topics[0]["topic"], "mail");
    let expected = json!({"topic": null, "route": "*", "destination": null});
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&topics[1][name], value, "{name}");
    }
    assert!(topics[1]["error"].as_str().unwrap().contains("127.0.0.1:1"));
    let shown = place.run(&args[..3], "").expect(6).stdout;
    assert!(shown.contains("wrong  the destination of *: "), "{shown}");
    assert!(shown.contains("--topic NAME"), "{shown}");
}
