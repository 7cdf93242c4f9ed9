//! Golden values of the ordering key's hash: rows of every store and writer depend on them.
//!
//! Postgres gives the same with
//! `get_byte(sha256(convert_to(topic || chr(31) || key, 'UTF8')), 0)`.

use outbox_message::{Lane, Lanes, OrderingKey, PartitionKey, Topic};

fn ordering_key(topic: &str, key: &str) -> OrderingKey {
    OrderingKey {
        topic: Topic::new(topic).expect("a topic"),
        key: PartitionKey::new(key).expect("a key"),
    }
}

#[test]
fn o3_the_hash_of_an_ordering_key_never_changes() {
    let (long_topic, long_key) = ("x".repeat(255), "y".repeat(1024));
    let golden = [
        ("orders", "order-1042", 246),
        ("orders", "1", 182),
        ("a", "b", 240),
        ("default", "user-7", 179),
        ("orders.created", "é", 177),
        ("payments", "0b6e8a2e-8a0c-4c9b-9b0a-000000000001", 146),
        ("t", "日本", 211),
        (&long_topic, &long_key, 63),
        ("a", "\u{1f}b", 58),
    ];
    for (topic, key, hash) in golden {
        assert_eq!(
            ordering_key(topic, key).hash(),
            hash,
            "({topic:.20}, {key:.20})"
        );
    }
}

#[test]
fn o3_the_lane_is_the_hash_modulo_the_number_of_lanes() {
    let key = ordering_key("default", "user-7");
    assert_eq!(key.lane(Lanes::new(8).unwrap()), Lane(3));
    assert_eq!(key.lane(Lanes::new(64).unwrap()), Lane(51));
}
