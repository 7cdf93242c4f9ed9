//! What the brokers need on the machine: their programs, where each is found and how it gets there, and the variables with
//! which another server stands in.

use std::path::{Path, PathBuf};

use crate::account::Account;
use crate::binaries;
use crate::home::Base;
use crate::{Error, Result};

/// The folder, among those of the servers, of the programs that no package has.
const PROGRAMS: &str = "programs";

/// What has to be on the machine, and how another server stands in.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    pub(crate) program: &'static str,
    pub(crate) origin: Origin,
    /// The environment variable with the URL of a server for tests.
    pub(crate) variable: &'static str,
}

/// How a program gets onto a machine.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin {
    /// It is installed.
    Package {
        /// The name of Debian's package.
        name: &'static str,
        /// Folders that are looked through before PATH.
        folders: &'static [&'static str],
    },
    /// `cargo xtask` puts it among the servers, into a folder of this name.
    Brought(&'static str),
}

impl Needs {
    pub(crate) fn find(&self) -> Option<PathBuf> {
        match self.origin {
            Origin::Package { folders, .. } => {
                let folders = folders.iter().map(Path::new);
                let mut programs = folders.map(|folder| folder.join(self.program));
                programs
                    .find(|path| path.is_file())
                    .or_else(|| binaries::program(self.program))
            }
            Origin::Brought(folder) => brought(folder, self.program)
                .ok()
                .filter(|path| path.is_file()),
        }
    }

    pub(crate) fn program(&self) -> Result<PathBuf> {
        let name = self.program;
        self.find().ok_or_else(|| match self.origin {
            Origin::Package { name: package, .. } => Error::new(
                format!("{name} is not installed"),
                format!("install it (Debian and Ubuntu: apt-get install {package})"),
            ),
            Origin::Brought(_) => Error::new(
                format!("{name} is not here yet"),
                "cargo xtask services up brings it, and so does cargo xtask test",
            ),
        })
    }
}

/// The place of a program that is brought.
pub(crate) fn brought(folder: &str, program: &str) -> Result<PathBuf> {
    let base = Base::find(Account::find()?)?;
    Ok(base.folder().join(PROGRAMS).join(folder).join(program))
}
