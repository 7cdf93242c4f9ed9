//! Topics that are shown, paused and resumed.

use serde_json::json;

use crate::program::Place;

const TWO: &str = concat!(
    r#"{"topic":"mail","key":"k","id":"m-1","payload":1}"#,
    "\n",
    r#"{"topic":"mail","id":"m-2","payload":2}"#,
    "\n",
    r#"{"topic":"orders","key":"k","id":"o-1","payload":3}"#,
    "\n",
);

fn pausing(place: &Place) {
    place.run(&["migrate"], "").expect(0);
    let paused = place.run(&["pause", "mail", "--json"], "").expect(0).json();
    assert_eq!(paused, json!({"paused": ["mail"]}));
    place.run(&["save"], TWO).expect(0);
    let relay = ["relay", "--to", &place.to_file(), "--until-empty", "--json"];
    let report = place.run(&relay, "").expect(3).json();
    assert_eq!(report["published"], 1);
    assert_eq!(
        report["pending"],
        json!({"total": 2, "ready": 0, "retry": 0, "paused": 2, "held": 0, "later": 0})
    );
    let topics = place.run(&["topics", "--json"], "").expect(0).json();
    let mail = &topics["topics"][0];
    assert_eq!(
        (&mail["topic"], &mail["pending"]),
        (&json!("mail"), &json!(2))
    );
    assert_eq!(mail["stopped"]["cause"], "paused");
    assert_eq!(mail["stopped"]["until_ms"], json!(null));
    let shown = place.run(&["topics"], "").expect(0).stdout;
    assert!(shown.contains("until resumed"), "{shown}");
    assert!(
        place
            .run(&["status"], "")
            .expect(0)
            .stdout
            .contains("until resumed")
    );

    let resumed = place
        .run(&["resume", "mail", "orders", "--json"], "")
        .expect(0)
        .json();
    assert_eq!(
        resumed,
        json!({"resumed": ["mail"], "unchanged": ["orders"]})
    );
    assert_eq!(place.run(&relay, "").expect(0).json()["published"], 2);
    let topics = place.run(&["topics"], "").expect(0).stdout;
    assert!(topics.contains("no topic has messages"), "{topics}");
}

#[test]
fn a6_a_paused_topic_waits_until_it_is_resumed() {
    pausing(&Place::new());
}

#[test]
fn a6_a_paused_topic_waits_until_it_is_resumed_on_postgres() {
    pausing(&Place::on_postgres());
}

#[test]
fn a_topic_that_cannot_be_one_is_refused() {
    let place = Place::migrated();
    let refused = place.run(&["pause", ""], "").expect(2).stderr;
    assert!(refused.contains("TOPIC"), "{refused}");
}
