//! Finds features of `serde_json` that would change what users' programs read: features unify over a whole build, so one
//! crate's wish is everybody's, in tests too.

use super::table::SERDE_JSON;
use super::tree;

/// Names who turns on a feature that is not allowed, from `cargo tree -i serde_json -e features --prefix depth`.
pub(crate) fn offences(tree: &str) -> Vec<String> {
    let lines: Vec<_> = tree::lines(tree).collect();
    let mut offences = Vec::new();
    for (at, (depth, line)) in lines.iter().enumerate() {
        let Some(feature) = feature(line).filter(|feature| !SERDE_JSON.contains(feature)) else {
            continue;
        };
        // An inverted tree lists, one level deeper, who asks.
        let below = lines[at + 1..]
            .iter()
            .take_while(|(deeper, _)| deeper > depth);
        for (_, by) in below.filter(|(deeper, _)| *deeper == depth + 1) {
            let by = by.split(" (").next().unwrap_or(by);
            offences.push(format!("{by} -> serde_json feature {feature} is forbidden"));
        }
    }
    offences
}

fn feature(line: &str) -> Option<&str> {
    line.strip_prefix("serde_json feature \"")?
        .split('"')
        .next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_turns_on_a_forbidden_feature_is_named() {
        let tree = "\
0serde_json v1.0.154
1serde_json feature \"arbitrary_precision\"
2left-pad v1.0.0
3outbox-envelope v0.1.0 (/somewhere)
2right-pad feature \"exact\"
3outbox-envelope v0.1.0 (/somewhere) (*)
1serde_json feature \"default\"
2outbox-cli v0.1.0 (/somewhere)
1serde_json feature \"std\"
2serde_json feature \"default\" (*)
";
        assert_eq!(
            offences(tree),
            [
                "left-pad v1.0.0 -> serde_json feature arbitrary_precision is forbidden",
                "right-pad feature \"exact\" -> serde_json feature arbitrary_precision is forbidden",
            ]
        );
    }

    #[test]
    fn std_and_raw_value_are_allowed() {
        let tree =
            "0serde_json v1.0.154\n1serde_json feature \"raw_value\"\n2xtask v0.1.0 (/somewhere)\n";
        assert!(offences(tree).is_empty());
    }
}
