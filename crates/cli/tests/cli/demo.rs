//! `outbox demo`: it ends well, and its numbers add up.

use serde_json::Value;

use crate::program::Place;

#[test]
fn the_demo_holds_every_promise_and_its_numbers_add_up() {
    let place = Place::new();
    // However little there is to publish, the relay that is killed had its share.
    for (messages, rolled_back) in [(300, 30), (1, 0)] {
        let demo = demo(&place, messages);
        let number = |name: &str| match &demo[name] {
            Value::Number(number) => number.as_u64().unwrap(),
            other => panic!("{name} is {other}"),
        };
        for broken in ["precedence_broken", "lost", "never_committed", "altered"] {
            assert_eq!(number(broken), 0, "{demo}");
        }
        assert_eq!(number("saved") + number("rolled_back"), messages);
        assert_eq!(number("rolled_back"), rolled_back);
        assert_eq!(number("published"), number("saved") + number("duplicates"));
        assert_eq!(number("killed"), 1);
    }
}

fn demo(place: &Place, messages: u64) -> Value {
    let messages = messages.to_string();
    let args = [
        "demo",
        "--messages",
        &messages,
        "--keys",
        "7",
        "--fail",
        "20",
        "--json",
    ];
    place.run(&args, "").expect(0).json()
}
