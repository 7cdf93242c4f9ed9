//! `cargo xtask layers`: the arrows between the crates, what each layer must never reach, and the features of `serde_json`.
//! The rules are data, in `layers/table.rs`; this file asks cargo and reports.

use crate::metadata;
use crate::shell::{self, Result, cargo};

mod arrows;
mod features;
mod table;
mod tree;

const FIX: &str = "remove the edge; a new arrow is a decision: it goes into xtask/src/layers/table.rs and docs/architecture.md";

pub(crate) fn run() -> Result {
    let workspace = metadata::read()?;
    let mut offences = arrows::offences(&workspace.packages);
    for package in &workspace.packages {
        let Some(layer) = table::layer(&package.name) else {
            continue; // Named by `arrows::offences`.
        };
        let lean = table::LEAN.iter().filter(|lean| lean.name == package.name);
        let lean = lean.map(|lean| (lean.features, lean.never));
        for (features, never) in [(layer.features, layer.never)].into_iter().chain(lean) {
            if !never.is_empty() {
                let tree = normal_tree(&package.name, features)?;
                offences.extend(tree::offences(&tree, never));
            }
        }
    }
    offences.extend(features::offences(&serde_json_tree()?));
    shell::report("layers", &offences, FIX)
}

/// The normal dependencies of one crate as its user gets them: no feature comes from another member.
fn normal_tree(package: &str, features: &str) -> Result<String> {
    shell::read(
        &mut cargo([
            "tree", "-p", package, features, "-e", "normal", "--prefix", "depth",
        ]),
        FIX,
    )
}

/// Who turns on which feature of `serde_json`, in the build of all tests together.
fn serde_json_tree() -> Result<String> {
    shell::read(
        &mut cargo([
            "tree",
            "--workspace",
            "--all-features",
            "-e",
            "features",
            "-i",
            "serde_json",
            "--prefix",
            "depth",
        ]),
        FIX,
    )
}
