//! The result of `initdb`, kept: every cluster begins as a copy of it, which takes a fraction of the time.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::home::{self, Base};
use crate::{Error, Postgres, Result, process};

/// What every cluster is set to. `fsync` is off, as a cluster need not outlive the machine; what a stopped server has
/// written is still there for the next start.
const SETTINGS: &str = "\
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 300
shared_buffers = 128MB
fsync = off
wal_keep_size = 128MB
log_checkpoints = off
";
/// The file of these settings in the data folder.
const FILE: &str = "outbox.conf";

/// Copies the template to where nothing is yet, and makes it first if there is none.
pub(crate) fn copy(postgres: &Postgres, data: &Path) -> Result {
    let lock = postgres.base().lock_file("template")?;
    lock.lock()
        .map_err(|error| Error::path(postgres.base().folder(), &error))?;
    let template = path(postgres);
    if !is_whole(&template, postgres.major()) {
        make(postgres, &template)?;
    }
    let mut copy = postgres.command("cp", data);
    process::run(copy.arg("-R").args([&template, data]))
}

/// Drops a template whose copy does not start.
pub(crate) fn forget(postgres: &Postgres) -> Result {
    let lock = postgres.base().lock_file("template")?;
    let template = path(postgres);
    let removed = lock.lock().and_then(|()| home::remove(&template));
    removed.map_err(|error| Error::path(&template, &error))
}

/// Runs `initdb`. A half-made template never has the name of a whole one.
fn make(postgres: &Postgres, template: &Path) -> Result {
    let unfinished = template.with_extension("new");
    let failed = |error: &dyn std::fmt::Display| Error::path(&unfinished, error);
    home::remove(&unfinished).map_err(|error| failed(&error))?;
    home::remove(template).map_err(|error| failed(&error))?;
    let account = postgres.account();
    account
        .make_folder(&unfinished)
        .map_err(|error| failed(&error))?;
    let options = "-U postgres -A trust -E UTF8 --locale=C --no-sync";
    let mut initdb = postgres.command("initdb", &unfinished);
    process::run(initdb.args(options.split(' ')).arg("-D").arg(&unfinished))?;
    let written = fs::OpenOptions::new()
        .append(true)
        .open(unfinished.join("postgresql.conf"))
        .and_then(|mut conf| writeln!(conf, "include '{FILE}'"))
        .and_then(|()| account.write(&unfinished.join(FILE), SETTINGS))
        .and_then(|()| fs::rename(&unfinished, template));
    written.map_err(|error| failed(&error))
}

/// One for each version, and for each account as only the owner may read it.
fn path(postgres: &Postgres) -> PathBuf {
    template(postgres.base(), postgres.major(), postgres.account().uid())
}

fn template(base: &Base, major: &str, uid: u32) -> PathBuf {
    base.folder().join(format!("template-{major}-{uid}"))
}

/// Says whether a folder holds what would be made today.
fn is_whole(template: &Path, major: &str) -> bool {
    is_read_by(template, major) && holds(&template.join(FILE), SETTINGS)
}

/// Says whether a folder holds data of this version.
pub(crate) fn is_read_by(data: &Path, major: &str) -> bool {
    holds(&data.join("PG_VERSION"), major)
}

fn holds(file: &Path, text: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|read| read.trim_end() == text.trim_end())
}
