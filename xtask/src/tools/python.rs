//! Virtual environments with packages of Python that nobody here wrote: each made once for each state of the file that pins
//! them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{PINNED, PYTHON, failure};
use crate::metadata::Workspace;
use crate::server::install::install;
use crate::shell::{self, Failure, Result};

/// The clients of the tests.
const REQUIREMENTS: &str = "tests/interop/requirements.txt";
const FOLDER: &str = "python";
const OLDEST: u8 = 10;
/// The copy of the file, beside the packages that it pins.
const STAMP: &str = "requirements.txt";

/// The first that is new enough is taken. A machine may have several, and the one on PATH may be old or lack a part.
pub(super) const INTERPRETERS: [&str; 7] = [
    "python3",
    "python3.14",
    "python3.13",
    "python3.12",
    "python3.11",
    "python3.10",
    "/usr/bin/python3",
];

/// What Debian keeps apart from Python.
const PACKAGE: &str = "python3-venv";

/// Finds the environment with the clients, or makes it, and returns its interpreter.
pub(super) fn bring(workspace: &Workspace) -> Result<PathBuf> {
    let fix = format!(
        "see that pip reaches a registry of Python packages, \
         or set {PYTHON} to a Python that has those of {REQUIREMENTS}"
    );
    environment(workspace, FOLDER, REQUIREMENTS, interpreter, &fix)
}

/// Finds the environment of that name with the packages that a file pins, or makes it, and returns its interpreter.
pub(super) fn environment(
    workspace: &Workspace,
    folder: &str,
    requirements: &str,
    begin: impl FnOnce() -> Result<PathBuf>,
    fix: &str,
) -> Result<PathBuf> {
    let requirements = workspace.root.join(requirements);
    let pinned =
        fs::read_to_string(&requirements).map_err(|error| failure(&requirements, &error))?;
    let folder = workspace.target_directory.join(folder);
    let python = folder.join("bin/python");
    let stamp = folder.join(STAMP);
    let is_made = fs::read_to_string(&stamp).is_ok_and(|stamp| stamp == pinned);
    // An interpreter is a link to one of the system, which may have been removed since.
    if is_made && succeeds(&python, "import pip") {
        return Ok(python);
    }
    let begin = begin()?;
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| failure(&folder, &error))?;
    }
    shell::run(Command::new(begin).args(["-m", "venv"]).arg(&folder), fix)?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install"])
        .args(PINNED)
        .arg(&requirements);
    shell::run(&mut pip, fix)?;
    fs::write(&stamp, pinned).map_err(|error| failure(&stamp, &error))?;
    Ok(python)
}

/// Says whether it is a Python 3 of this minor version or a later one, and makes virtual environments.
pub(super) fn suits(python: &Path, oldest: u8) -> bool {
    let program =
        format!("import sys, venv, ensurepip; sys.exit(sys.version_info < (3, {oldest}))");
    succeeds(python, &program)
}

/// Finds a Python for the clients, and installs it where that is plainly wanted.
fn interpreter() -> Result<PathBuf> {
    let find = || {
        let mut all = INTERPRETERS.into_iter().map(PathBuf::from);
        all.find(|python| suits(python, OLDEST))
    };
    if let Some(python) = find() {
        return Ok(python);
    }
    let installed = install(&[PACKAGE])?;
    find().filter(|_| installed).ok_or_else(|| {
        Failure::new(
            "no Python of 3.10 or later that makes virtual environments",
            format!(
                "install one (Debian and Ubuntu: apt-get install {PACKAGE}), \
                 or set {PYTHON} to a Python that has the packages of {REQUIREMENTS}"
            ),
        )
    })
}

fn succeeds(python: &Path, program: &str) -> bool {
    let mut command = Command::new(python);
    command
        .args(["-c", program])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
