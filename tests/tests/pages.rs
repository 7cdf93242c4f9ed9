//! What the pages name must be there: tests that prove a promise, and every public error. The code in the pages is tested as
//! doctests of this package, their links by `cargo xtask tidy`.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The root of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join("docs").join(name)).unwrap()
}

/// Every Rust file below a folder, except what was built.
fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(fs::read_to_string(&path).unwrap());
        }
    }
}

fn sources_of(folders: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for folder in folders {
        sources(&root().join(folder), &mut found);
    }
    found
}

/// The texts between backticks on lines; blocks of code are left out.
fn code_spans(text: &str) -> Vec<&str> {
    let prose = text.split("```").step_by(2);
    prose
        .flat_map(|part| part.split('`').skip(1).step_by(2))
        .collect()
}

/// A name as tests have it: a sentence of at least three words in snake case.
fn is_test_name(span: &str) -> bool {
    span.matches('_').count() >= 2
        && span
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[test]
fn every_test_that_a_page_cites_exists() {
    let sources = sources_of(&["crates", "tests", "migrations", "xtask"]);
    let brokers = page("brokers.md");
    let (_, shown) = brokers.split_once("\n## How it is shown\n").unwrap();
    let text = page("guarantees.md") + &page("performance.md") + &page("interop.md") + shown;
    let cited: BTreeSet<&str> = code_spans(&text)
        .into_iter()
        .filter(|span| is_test_name(span))
        .collect();
    let missing: Vec<&&str> = cited
        .iter()
        .filter(|name| {
            let defined = [format!("fn {name}("), format!("fn {name}<")];
            !sources
                .iter()
                .any(|source| defined.iter().any(|it| source.contains(it)))
        })
        .collect();
    assert!(missing.is_empty(), "no such tests: {missing:#?}");
    assert!(cited.len() > 50, "only {} tests are cited", cited.len());
}

#[test]
fn every_rule_of_the_contract_has_a_paragraph_that_cites_a_test() {
    let text = page("guarantees.md");
    let rules = [("C", 4), ("O", 11), ("D", 5), ("F", 8), ("P", 4)];
    for (letter, count) in rules {
        for number in 1..=count {
            let opening = format!("**{letter}{number} ");
            let at = text
                .find(&opening)
                .unwrap_or_else(|| panic!("{opening} is missing"));
            let rest = &text[at + opening.len()..];
            let end = rest
                .find("\n**")
                .or_else(|| rest.find("\n#"))
                .unwrap_or(rest.len());
            let cites = code_spans(&rest[..end]).into_iter().any(is_test_name);
            assert!(cites, "{opening} cites no test");
        }
    }
}

/// A public error: its name, and the variants if it is an enum.
struct PublicError {
    name: String,
    variants: Vec<String>,
}

/// The public errors of a source: types that end in `Error`, or begin with what errors of this workspace begin with.
fn errors(source: &str) -> Vec<PublicError> {
    let is_error = |name: &str| {
        name.contains("Error")
            || ["Invalid", "Illegal", "Malformed"]
                .iter()
                .any(|start| name.starts_with(start))
    };
    let mut found: Vec<PublicError> = Vec::new();
    let mut inside = false;
    for line in source.lines() {
        let (is_enum, rest) = match (
            line.strip_prefix("pub enum "),
            line.strip_prefix("pub struct "),
        ) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => (inside, ""),
        };
        if !rest.is_empty() {
            let name = word(rest);
            inside = is_enum && is_error(&name);
            if is_error(&name) {
                found.push(PublicError {
                    name,
                    variants: Vec::new(),
                });
            }
        } else if line == "}" {
            inside = false;
        } else if let Some(rest) = line.strip_prefix("    ")
            && inside
            && rest.starts_with(|c: char| c.is_ascii_uppercase())
        {
            found.last_mut().unwrap().variants.push(word(rest));
        }
    }
    found
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric()).collect()
}

#[test]
fn every_public_error_is_on_the_page_of_errors() {
    let folders: Vec<String> = fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "cli")
        .map(|name| format!("crates/{name}/src"))
        .collect();
    let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
    let text = page("errors.md");
    let sections: Vec<&str> = text.split("\n## ").collect();
    let mut missing = Vec::new();
    let mut count = 0;
    for error in sources_of(&folders)
        .iter()
        .flat_map(|source| errors(source))
    {
        count += 1;
        let heading = format!("`{}`", error.name);
        let Some(section) = sections
            .iter()
            .find(|section| section.lines().next().unwrap().contains(&heading))
        else {
            missing.push(error.name);
            continue;
        };
        for variant in error.variants {
            if !code_spans(section).contains(&variant.as_str()) {
                missing.push(format!("{}::{variant}", error.name));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "errors without a word about them: {missing:#?}"
    );
    assert!(count >= 10, "only {count} public errors were found");
}
