//! `outbox demo`: it ends well, and its numbers add up.

use serde_json::Value;

use crate::program::Place;

#[test]
fn the_demo_holds_every_promise_and_its_numbers_add_up() {
    let place = Place::new();
    let args = [
        "demo",
        "--messages",
        "300",
        "--keys",
        "7",
        "--fail",
        "20",
        "--json",
    ];
    let demo = place.run(&args, "").expect(0).json();
    let number = |name: &str| match &demo[name] {
        Value::Number(number) => number.as_u64().unwrap(),
        other => panic!("{name} is {other}"),
    };
    for broken in ["precedence_broken", "lost", "never_committed", "altered"] {
        assert_eq!(number(broken), 0, "{demo}");
    }
    assert_eq!(number("saved") + number("rolled_back"), 300);
    assert_eq!(number("rolled_back"), 30);
    assert_eq!(number("published"), number("saved") + number("duplicates"));
    assert_eq!(number("killed"), 1);
}
