//! The suite runs every case there is: a case that `conformance!` does not list would never run.

use std::{fs, path::Path};

#[test]
fn every_case_is_listed_once() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let macro_text = fs::read_to_string(source.join("conformance.rs")).unwrap();
    let listed = |name: &str| {
        macro_text
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .filter(|word| *word == name)
            .count()
    };
    let mut cases = 0;
    for file in fs::read_dir(source.join("cases")).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        for line in text.lines() {
            let Some(rest) = line.strip_prefix("pub async fn ") else {
                continue;
            };
            let name = rest.split('<').next().unwrap();
            assert_eq!(listed(name), 1, "{name} is listed once in conformance.rs");
            cases += 1;
        }
    }
    assert!(cases > 100, "{cases} cases found");
}
