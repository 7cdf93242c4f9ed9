//! The published packages that the benches compare with, each behind a driver of `tests/peers`: built in the target folder,
//! with what they need. What is said to a driver is not here.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use super::{failure, lock, python};
use crate::metadata::{self, Workspace};
use crate::shell::{self, Result, cargo};

/// The workspace of the drivers in Rust: its own, and not a part of the one around it.
const MANIFEST: &str = "tests/peers/Cargo.toml";
/// What it and the driver in Python pin.
const LOCK: &str = "tests/peers/Cargo.lock";
const REQUIREMENTS: &str = "tests/peers/omni-box/requirements.txt";
const OMNI_BOX: &str = "tests/peers/omni-box/driver.py";
/// Under the target folder.
const PROGRAMS: &str = "peers";
const ENVIRONMENT: &str = "peers-python";
/// What omni-box asks for: Python 3.12.
const OLDEST: u8 = 12;

/// A published package to compare with.
#[derive(Debug)]
pub(crate) struct Peer {
    /// What it is called.
    pub(crate) name: &'static str,
    /// Its packages and their versions.
    pub(crate) packages: String,
    /// Its driver, with what comes before `prepare`, `relay`, `left` and `save`.
    pub(crate) command: Vec<OsString>,
}

/// Brings the peers and prints how each is driven.
pub(crate) fn run() -> Result {
    for peer in bring()? {
        let command: Vec<_> = peer
            .command
            .iter()
            .map(|word| word.display().to_string())
            .collect();
        println!("{} ({}): {}", peer.name, peer.packages, command.join(" "));
    }
    Ok(())
}

/// Brings what is not there yet and builds the drivers. Others that do the same wait.
pub(crate) fn bring() -> Result<Vec<Peer>> {
    let workspace = metadata::read()?;
    let _lock = lock(&workspace)?;
    let programs = build(&workspace)?;
    let pinned = read(&workspace, LOCK)?;
    let rust = |name, program: &str, packages: &[&str]| Peer {
        name,
        packages: versions(&pinned, packages),
        command: vec![programs.join(program).into()],
    };
    let mut peers = vec![
        rust(
            "oxide-outbox",
            "peer-oxide-outbox",
            &["outbox-core", "outbox-postgres"],
        ),
        rust(
            "graphile-worker",
            "peer-graphile-worker",
            &["graphile_worker"],
        ),
    ];
    peers.extend(omni_box(&workspace)?);
    Ok(peers)
}

/// Builds the drivers in Rust and returns the folder of the programs.
fn build(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target_directory.join(PROGRAMS);
    let mut build = cargo(["build", "--release", "--locked"]);
    build
        .arg("--manifest-path")
        .arg(workspace.root.join(MANIFEST))
        .arg("--target-dir")
        .arg(&folder);
    shell::run(&mut build, "see that cargo reaches a registry of crates")?;
    Ok(folder.join("release"))
}

/// The peer in Python; none on a machine whose Python is too old for it.
fn omni_box(workspace: &Workspace) -> Result<Option<Peer>> {
    let Some(begin) = interpreter() else {
        println!("omni-box is left out: it needs Python 3.{OLDEST} or newer");
        return Ok(None);
    };
    let fix = "see that pip reaches a registry of Python packages";
    let python = python::environment(workspace, ENVIRONMENT, REQUIREMENTS, || Ok(begin), fix)?;
    let pinned = read(workspace, REQUIREMENTS)?;
    Ok(Some(Peer {
        name: "omni-box",
        packages: versions(&pinned, &["omni-box"]),
        command: vec![python.into(), workspace.root.join(OMNI_BOX).into()],
    }))
}

/// Finds a Python that is new enough, among those of PATH and then those that pyenv keeps, which it need not put there.
fn interpreter() -> Option<PathBuf> {
    let called = python::INTERPRETERS.into_iter().map(PathBuf::from);
    called
        .chain(kept())
        .find(|python| python::suits(python, OLDEST))
}

fn kept() -> Vec<PathBuf> {
    let named = env::var_os("PYENV_ROOT").map(PathBuf::from);
    let usual = || Some(env::home_dir()?.join(".pyenv"));
    let Some(root) = named.or_else(usual) else {
        return Vec::new();
    };
    let kept = fs::read_dir(root.join("versions")).into_iter().flatten();
    let kept = kept
        .flatten()
        .map(|version| version.path().join("bin/python3"));
    let mut kept: Vec<_> = kept.collect();
    kept.sort();
    kept
}

fn read(workspace: &Workspace, name: &str) -> Result<String> {
    let path = workspace.root.join(name);
    fs::read_to_string(&path).map_err(|error| failure(&path, &error))
}

/// Names packages with the versions that a lock file of cargo, or a file of requirements, pins.
fn versions(pinned: &str, packages: &[&str]) -> String {
    let version = |package: &str| {
        let cargo = format!("name = \"{package}\"\nversion = \"");
        let pip = format!("\n{package}==");
        let (_, rest) = pinned
            .split_once(&cargo)
            .or_else(|| pinned.split_once(&pip))?;
        rest.split(['"', ' ', '\n']).next()
    };
    let named = packages.iter().map(|package| match version(package) {
        Some(version) => format!("{package} {version}"),
        None => (*package).to_owned(),
    });
    named.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_that_are_pinned() {
        let cargo = "[[package]]\nname = \"a-b\"\nversion = \"9.0.0\"\n\n[[package]]\nname = \"a\"\nversion = \"1.2.3\"\n";
        assert_eq!(versions(cargo, &["a", "a-b"]), "a 1.2.3, a-b 9.0.0");
        let pip = "# Of a[b]==0.0.1\nb-a==9.0.0 \\\n    --hash=sha256:00\na==1.2.3 \\\n";
        assert_eq!(versions(pip, &["a"]), "a 1.2.3");
        assert_eq!(versions("", &["a"]), "a");
    }
}
