//! The clients in JavaScript that nobody here wrote: their packages, brought by npm once for each state of the file that
//! pins them.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::{NODE_MODULES, failure};
use crate::metadata::Workspace;
use crate::server::install::install;
use crate::shell::{self, Failure, Result};

const PROGRAMS: &str = "tests/interop/node";
const MANIFEST: &str = "package.json";
/// It has a checksum of each package. Its copy beside them says that they are all there.
const LOCK: &str = "package-lock.json";
const STAMP: &str = "brought-package-lock.json";

/// The oldest that all of the packages run on, which Debian 12 has.
const SUITS: &str = "const [major, minor] = process.versions.node.split('.').map(Number); \
                     process.exit(major > 18 || (major === 18 && minor >= 19) ? 0 : 1)";

/// What Debian calls Node.js, and what it keeps apart from it.
const PACKAGES: [&str; 2] = ["nodejs", "npm"];

/// Finds the folder with the packages, or makes it.
pub(super) fn bring(workspace: &Workspace) -> Result<PathBuf> {
    let programs = workspace.root.join(PROGRAMS);
    let lock = programs.join(LOCK);
    let pinned = fs::read_to_string(&lock).map_err(|error| failure(&lock, &error))?;
    let folder = workspace.target_directory.join("node");
    let (modules, stamp) = (folder.join("node_modules"), folder.join(STAMP));
    let is_made = modules.is_dir() && fs::read_to_string(&stamp).is_ok_and(|made| made == pinned);
    if is_made && runs("node", &["-e", SUITS]) {
        return Ok(modules);
    }
    provide()?;
    fs::create_dir_all(&folder).map_err(|error| failure(&folder, &error))?;
    for name in [MANIFEST, LOCK] {
        let copy = folder.join(name);
        fs::copy(programs.join(name), &copy).map_err(|error| failure(&copy, &error))?;
    }
    let fix = format!(
        "see that npm reaches a registry of its packages, \
         or set {NODE_MODULES} to a folder that has those of {PROGRAMS}/{LOCK}"
    );
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(&folder);
    shell::run(&mut npm, &fix)?;
    fs::write(&stamp, pinned).map_err(|error| failure(&stamp, &error))?;
    Ok(modules)
}

/// Sees to it that there is a Node.js with npm, and installs it where that is plainly wanted.
fn provide() -> Result {
    let is_there = || runs("node", &["-e", SUITS]) && runs("npm", &["--version"]);
    if is_there() || (install(&PACKAGES)? && is_there()) {
        return Ok(());
    }
    let packages = PACKAGES.join(" ");
    Err(Failure::new(
        "no Node.js of 18.19 or later with npm",
        format!("install it (Debian and Ubuntu: apt-get install {packages})"),
    ))
}

fn runs(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
