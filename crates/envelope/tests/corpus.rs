//! Holds every body that a fuzzer found worth keeping to the laws that fuzzing goes by. `cargo xtask fuzz` looks for more.

use std::{fs, panic, path::Path};

#[path = "corpus/laws.rs"]
pub mod laws;

#[test]
fn every_law_holds_for_every_body_of_the_corpus() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/bodies");
    let mut broken = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir(&folder).expect("the corpus lies beside the test") {
        let path = entry.unwrap().path();
        let body = fs::read(&path).unwrap();
        for (name, law) in [
            ("decode", laws::decode as fn(&[u8])),
            ("poison", laws::poison),
            ("splice", laws::splice),
        ] {
            if panic::catch_unwind(|| law(&body)).is_err() {
                broken.push(format!("{name} {}", path.display()));
            }
        }
        count += 1;
    }
    assert_eq!(broken, [""; 0], "cargo xtask fuzz <law> <body> shows one");
    assert!(count > 0, "the corpus got lost");
}
