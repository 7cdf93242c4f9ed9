//! `outbox relay --retain` keeps what was published, `outbox purge` deletes it again, on each kind of store.

use serde_json::json;

use crate::program::{Place, lines};

fn kept_and_purged(place: &Place) {
    place.run(&["migrate"], "").expect(0);
    place.run(&["save"], &lines(5, 2)).expect(0);
    let to = place.to_file();
    let keep = ["relay", "--to", &to, "--until-empty", "--retain", "1d"];
    place.run(&keep, "").expect(0);

    let purge = |options: &[&str]| {
        let mut args = vec!["purge", "--json"];
        args.extend(options);
        place.run(&args, "").expect(0).json()
    };
    let young = purge(&["--older-than", "1h"]);
    let nothing = json!({"dry_run": false, "published": 0, "ids": 0, "inbox": 0, "partitions": 0, "more": false});
    assert_eq!(young, nothing);
    let counted = purge(&["--older-than", "0s", "--dry-run"]);
    assert_eq!(
        counted,
        json!({"dry_run": true, "published": 5, "ids": 0, "inbox": 0, "partitions": 0, "more": false})
    );
    let told = place.run(&["purge", "--older-than", "0s"], "").expect(0);
    assert_eq!(
        told.stdout,
        "deleted 5 published messages, 0 partitions with the messages in them, 0 remembered ids, and 0 handled ids\n"
    );
    assert_eq!(purge(&["--older-than", "0s"]), nothing);

    // Without it nothing is kept.
    place.run(&["save"], &lines(3, 1)).expect(0);
    let relay = ["relay", "--to", &to, "--until-empty"];
    place.run(&relay, "").expect(0);
    assert_eq!(purge(&["--older-than", "0s"]), nothing);
}

fn handled_and_forgotten(place: &Place, two_days_ago: &str) {
    place.run(&["migrate"], "").expect(0);
    place.sql(&format!(
        "INSERT INTO outbox_inbox (handled_at, consumer, message_id) VALUES ({two_days_ago}, 'billing', 'm-1')"
    ));
    let purge = |age: &str| {
        let args = ["purge", "--inbox-older-than", age, "--json"];
        place.run(&args, "").expect(0).json()["inbox"].clone()
    };
    assert_eq!(
        place.run(&["purge", "--json"], "").expect(0).json()["inbox"],
        0
    );
    assert_eq!(purge("3d"), 0);
    assert_eq!(purge("1d"), 1);
    assert_eq!(purge("1d"), 0);
}

#[test]
fn what_consumers_of_sqlite_handled_is_forgotten_by_its_age() {
    let two_days_ago = "unixepoch() * 1000 - 172800000";
    handled_and_forgotten(&Place::new(), two_days_ago);
}

#[test]
fn what_consumers_of_postgres_handled_is_forgotten_by_its_age() {
    handled_and_forgotten(&Place::on_postgres(), "now() - interval '2 days'");
}

#[test]
fn what_a_dead_letter_may_need_is_not_forgotten() {
    let place = Place::migrated();
    place.sql(
        "INSERT INTO outbox_dead (position, lane, id, topic, payload, attempts, tries, saved_at, died_at, reason, after)
         VALUES (1, 1, 'old', 'orders', x'', 1, 1, 0, 0, 'permanent', 'skip')",
    );
    place.run(&["purge"], "").expect(0);
    let refused = place.run(&["purge", "--inbox-older-than", "1d"], "");
    let words = [
        "the dead letter old of orders",
        "redrive or discard it first",
    ];
    refused.expect(4).says(&words);
}

#[test]
fn what_sqlite_kept_is_purged_by_its_age() {
    kept_and_purged(&Place::new());
}

#[test]
fn what_postgres_kept_is_purged_by_its_age() {
    kept_and_purged(&Place::on_postgres());
}
