//! Reads what `cargo tree --prefix depth` prints and finds the paths to crates that must not be there.

use std::collections::BTreeSet;

use super::table;

/// Names a path to each forbidden crate of a tree, from its root.
pub(crate) fn offences(tree: &str, never: &[&[&str]]) -> Vec<String> {
    let mut path = Vec::new();
    let mut named = BTreeSet::new();
    let mut offences = Vec::new();
    for (depth, line) in lines(tree) {
        let name = line.split(' ').next().unwrap_or(line);
        path.truncate(depth);
        path.push(name);
        let forbidden = never
            .iter()
            .copied()
            .flatten()
            .any(|pattern| table::matches(pattern, name));
        if depth > 0 && forbidden && named.insert(name) {
            offences.push(format!("{} is forbidden", path.join(" -> ")));
        }
    }
    offences
}

/// The lines of a tree with their depth; blank ones are left out.
pub(crate) fn lines(tree: &str) -> impl Iterator<Item = (usize, &str)> {
    tree.lines().filter_map(|line| {
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let (depth, rest) = line.split_at(digits);
        Some((depth.parse().ok()?, rest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "\
0outbox-message v0.1.0 (/somewhere)
1bytes v1.10.1
1uuid v1.18.0
2getrandom v0.3.3
2rand v0.9.2
3tracing-core v0.1.34
1tokio v1.47.0 (*)
";

    #[test]
    fn the_path_to_a_forbidden_crate_is_named() {
        assert_eq!(
            offences(TREE, &[&["rand", "sqlx*"], &["tracing*"]]),
            [
                "outbox-message -> uuid -> rand is forbidden",
                "outbox-message -> uuid -> rand -> tracing-core is forbidden",
            ]
        );
    }

    #[test]
    fn a_tree_must_be_empty_but_for_its_root_when_everything_is_forbidden() {
        assert!(offences("0outbox-backoff v0.1.0 (/somewhere)\n", &[&["*"]]).is_empty());
        assert_eq!(
            offences(
                "0outbox-backoff v0.1.0 (/somewhere)\n1libm v0.2.0\n",
                &[&["*"]]
            ),
            ["outbox-backoff -> libm is forbidden"]
        );
    }

    #[test]
    fn a_clean_tree_has_no_offences() {
        assert!(offences(TREE, &[&["diesel*", "async-trait"]]).is_empty());
    }
}
