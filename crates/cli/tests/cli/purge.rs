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
    let nothing =
        json!({"dry_run": false, "published": 0, "ids": 0, "partitions": 0, "more": false});
    assert_eq!(young, nothing);
    let counted = purge(&["--older-than", "0s", "--dry-run"]);
    assert_eq!(
        counted,
        json!({"dry_run": true, "published": 5, "ids": 0, "partitions": 0, "more": false})
    );
    let told = place.run(&["purge", "--older-than", "0s"], "").expect(0);
    assert_eq!(
        told.stdout,
        "deleted 5 published messages, 0 partitions with the messages in them, and 0 remembered ids\n"
    );
    assert_eq!(purge(&["--older-than", "0s"]), nothing);

    // Without it nothing is kept.
    place.run(&["save"], &lines(3, 1)).expect(0);
    let relay = ["relay", "--to", &to, "--until-empty"];
    place.run(&relay, "").expect(0);
    assert_eq!(purge(&["--older-than", "0s"]), nothing);
}

#[test]
fn what_sqlite_kept_is_purged_by_its_age() {
    kept_and_purged(&Place::new());
}

#[test]
fn what_postgres_kept_is_purged_by_its_age() {
    kept_and_purged(&Place::on_postgres());
}
