//! Where the programs of Postgres are: on PATH, or in the folders where packages keep them beside it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Error, Result};

/// Folders that hold one folder a version, and how its name begins before the version.
const VERSIONED: [(&str, &str); 5] = [
    ("/usr/lib/postgresql", ""),
    ("/usr", "pgsql-"),
    ("/opt/homebrew/opt", "postgresql@"),
    ("/usr/local/opt", "postgresql@"),
    ("/Applications/Postgres.app/Contents/Versions", ""),
];
const OTHERS: [&str; 1] = ["/usr/local/pgsql/bin"];

/// Where programs of the system are that not every PATH names.
const SYSTEM: [&str; 4] = [
    "/usr/sbin",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/opt/homebrew/bin",
];

/// The programs of one Postgres.
#[derive(Clone, Debug)]
pub(crate) struct Binaries {
    folder: PathBuf,
    version: String,
}

impl Binaries {
    /// Finds those on PATH, or else the newest in the known folders.
    pub(crate) fn find() -> Result<Self> {
        let versioned = VERSIONED
            .iter()
            .flat_map(|(root, prefix)| newest_first(prefix, names(Path::new(root)), root));
        let mut folders = on_path().chain(versioned).chain(OTHERS.map(PathBuf::from));
        folders
            .find_map(|folder| Self::in_folder(&folder))
            .ok_or_else(|| {
                Error::new(
                    "no Postgres server is installed",
                    "install one (Debian and Ubuntu: apt-get install postgresql)",
                )
            })
    }

    /// Looks for a server in one folder. A link leads to the folder that holds all of its programs.
    fn in_folder(folder: &Path) -> Option<Self> {
        let server = fs::canonicalize(folder.join("postgres")).ok()?;
        let folder = server.parent()?.to_owned();
        let whole = ["initdb", "psql"]
            .iter()
            .all(|name| folder.join(name).is_file());
        let output = Command::new(&server).arg("--version").output().ok()?;
        let version = version(&String::from_utf8_lossy(&output.stdout))?.to_owned();
        whole.then_some(Self { folder, version })
    }

    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The whole version, such as `15.14`.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// What the data of this version can be read by: its first number.
    pub(crate) fn major(&self) -> &str {
        let digits = |c: char| !c.is_ascii_digit();
        self.version.split(digits).next().unwrap_or(&self.version)
    }
}

/// Finds a program that is no part of Postgres.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let folders = on_path().chain(SYSTEM.map(PathBuf::from));
    folders
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

fn on_path() -> impl Iterator<Item = PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).collect::<Vec<_>>().into_iter()
}

/// Reads the third word of `postgres (PostgreSQL) 15.14 (Debian 15.14-0)`.
fn version(text: &str) -> Option<&str> {
    text.strip_prefix("postgres (PostgreSQL) ")?
        .split_whitespace()
        .next()
}

fn names(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

/// The folders of programs below a root, by the numbers in their names.
fn newest_first(prefix: &str, names: Vec<String>, root: &str) -> Vec<PathBuf> {
    let mut versions: Vec<(Vec<u32>, String)> = names
        .into_iter()
        .filter_map(|name| {
            let numbers = name.strip_prefix(prefix)?.split('.').map(str::parse);
            Some((numbers.collect::<std::result::Result<_, _>>().ok()?, name))
        })
        .collect();
    versions.sort();
    let newest_first = versions.iter().rev();
    newest_first
        .map(|(_, name)| Path::new(root).join(name).join("bin"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(prefix: &str, names: &[&str]) -> Vec<PathBuf> {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        newest_first(prefix, names, "/opt")
    }

    #[test]
    fn of_several_versions_the_newest_comes_first() {
        assert_eq!(
            found("", &["9.6", "15", "17", "common", "9.10"]),
            ["17", "15", "9.10", "9.6"].map(|name| PathBuf::from(format!("/opt/{name}/bin")))
        );
        assert_eq!(
            found("pgsql-", &["pgsql-15", "lib", "pgsql-16"]),
            [
                PathBuf::from("/opt/pgsql-16/bin"),
                PathBuf::from("/opt/pgsql-15/bin")
            ]
        );
    }

    #[test]
    fn a_version_is_read_and_cut_to_what_its_data_needs() {
        let text = "postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)\n";
        let binaries = |version: &str| Binaries {
            folder: PathBuf::new(),
            version: version.into(),
        };
        assert_eq!(version(text), Some("15.14"));
        assert_eq!(version("bash: postgres: not found\n"), None);
        assert_eq!(binaries("15.14").major(), "15");
        assert_eq!(binaries("18beta1").major(), "18");
    }
}
