//! The workspace as `cargo metadata` tells it, cut down to what the checks read.
//!
//! Read with serde alone: the `cargo_metadata` crate turns on a feature of `serde_json` that would unify into every test
//! of the workspace.

use std::path::PathBuf;

use serde::Deserialize;

use crate::shell::{self, Failure, Result, cargo};

/// The members of the workspace and where they stand.
#[derive(Debug, Deserialize)]
pub(crate) struct Workspace {
    pub(crate) packages: Vec<Package>,
    #[serde(rename = "workspace_root")]
    pub(crate) root: PathBuf,
    pub(crate) target_directory: PathBuf,
}

/// One member.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) license: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) manifest_path: PathBuf,
    /// The registries it may go to; an empty list is `publish = false`.
    pub(crate) publish: Option<Vec<String>>,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) targets: Vec<Target>,
}

/// One line of a dependency table.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: Option<Kind>,
    /// The version asked for; `*` if there is none.
    pub(crate) req: String,
    /// Present for a crate of this workspace.
    pub(crate) path: Option<PathBuf>,
}

/// Which table a dependency stands in; none means the normal one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Dev,
    Build,
}

/// A library, program, test, bench or example.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) kind: Vec<String>,
}

impl Package {
    /// Says whether the package can be published.
    pub(crate) fn is_published(&self) -> bool {
        self.publish.as_ref().is_none_or(|to| !to.is_empty())
    }
}

/// Asks cargo for the members of this workspace.
pub(crate) fn read() -> Result<Workspace> {
    let fix = "mend the manifest that cargo names above";
    let json = shell::read(
        &mut cargo(["metadata", "--no-deps", "--format-version", "1"]),
        fix,
    )?;
    serde_json::from_str(&json)
        .map_err(|error| Failure::new(format!("cargo metadata: {error}"), fix))
}
