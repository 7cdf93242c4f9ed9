//! `cargo xtask package`: an archive of every crate that is published, each built from its archive alone.
//!
//! None of the crates has to be on a registry: cargo packages them together, and each build takes its siblings from
//! the archives made beside it. Building finds what packaging alone does not, such as an embedded file outside the
//! crate's folder.

use crate::metadata;
use crate::shell::{self, Result, cargo};

pub(crate) fn run() -> Result {
    let workspace = metadata::read()?;
    let published = workspace
        .packages
        .iter()
        .filter(|package| package.is_published());
    let chosen = published.flat_map(|package| ["-p", package.name.as_str()]);
    shell::run(
        // What is packaged is the tree as it stands, committed or not.
        cargo(["package", "--allow-dirty"]).args(chosen),
        "a crate embeds only files of its own folder, and its manifest names all it needs",
    )
}
