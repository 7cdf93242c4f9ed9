//! Where servers live: the base folder, and one home in it for each server. A home is locked for as long as the program
//! that took it lives; what a killed program left in one is stopped and removed by whoever starts a server next.

use std::env;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use crate::account::Account;
use crate::kind::{self, End, Kind};
use crate::process;
use crate::{Error, Result};

/// What cargo puts on top of a folder for build output.
const TARGET_MARK: &str = "CACHEDIR.TAG";

/// The folder of all servers that one checkout starts.
#[derive(Clone, Debug)]
pub(crate) struct Base(PathBuf);

impl Base {
    /// Takes `servers` in the target folder that this program was built into. If the servers' account cannot enter that,
    /// such as below a home folder that is closed to others, a folder for temporary files stands in.
    pub(crate) fn find(account: Account) -> Result<Self> {
        let wanted = target_folder()
            .unwrap_or_else(env::temp_dir)
            .join("servers");
        Self::at(&wanted, account)
    }

    /// Takes this folder, or the one for temporary files that stands in for it.
    pub(crate) fn at(wanted: &Path, account: Account) -> Result<Self> {
        let stand_in = stand_in(wanted);
        let usable = [wanted, &stand_in]
            .into_iter()
            .find(|folder| account.make_base(folder).is_ok());
        let folder = usable.map(fs::canonicalize).ok_or_else(|| {
            Error::new(
                format!(
                    "servers can live neither in {} nor in {}",
                    wanted.display(),
                    stand_in.display()
                ),
                "remove both, or set CARGO_TARGET_DIR to a folder that every account can enter",
            )
        })?;
        Ok(Self(folder.map_err(|error| Error::path(wanted, &error))?))
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    /// Opens a file of the base folder to be locked. It is never removed: a lock on a removed file excludes nobody.
    pub(crate) fn lock_file(&self, name: &str) -> Result<File> {
        let path = self.0.join(name).with_extension("lock");
        let opened = OpenOptions::new().create(true).append(true).open(&path);
        opened.map_err(|error| Error::path(&path, &error))
    }
}

/// The folder of one server and what belongs to it, and the right to it.
#[derive(Debug)]
pub(crate) struct Home {
    folder: PathBuf,
    throwaway: bool,
    /// Given back by the system when this program ends, however it ends.
    _lock: File,
}

impl Home {
    /// Takes the first home that nobody has, and clears away what is left in the others.
    pub(crate) fn throwaway(base: &Base, account: Account) -> Result<Self> {
        let mut free: Option<Self> = None;
        for number in 1.. {
            let name = format!("run-{number}");
            // There is no gap in the numbers, as the first free one is taken.
            if free.is_some() && !base.folder().join(&name).with_extension("lock").exists() {
                break;
            }
            let lock = base.lock_file(&name)?;
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(error)) => return Err(Error::path(base.folder(), &error)),
            }
            let home = Self::new(base, &name, true, lock);
            home.clear()?;
            free.get_or_insert(home);
        }
        let home = free.expect("the loop ends when one was found");
        File::create(home.log()).map_err(|error| Error::path(&home.log(), &error))?;
        home.made(account)
    }

    /// Takes a home that is kept, and waits for whoever has it.
    pub(crate) fn kept(base: &Base, account: Account, name: &str) -> Result<Self> {
        let lock = base.lock_file(name)?;
        lock.lock()
            .map_err(|error| Error::path(base.folder(), &error))?;
        Self::new(base, name, false, lock).made(account)
    }

    fn new(base: &Base, name: &str, throwaway: bool, lock: File) -> Self {
        Self {
            folder: base.folder().join(name),
            throwaway,
            _lock: lock,
        }
    }

    fn made(self, account: Account) -> Result<Self> {
        let made = account.make_folder(&self.folder);
        made.map_err(|error| Error::path(&self.folder, &error))?;
        Ok(self)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the data of a cluster is.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// What the servers say, beside the home so that it can still be read until somebody else takes the home.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.with_extension("log")
    }

    /// Stops what runs here and removes all of it, but for the log.
    fn clear(&self) -> Result {
        stop_all(&self.folder, End::AtOnce)?;
        remove(&self.folder).map_err(|error| Error::path(&self.folder, &error))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if self.throwaway {
            // What stays is cleared away by the next start, which can say why it could not.
            let _ = self.clear();
        }
    }
}

/// A server that was found by its pid file.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) kind: &'static Kind,
    pub(crate) pid: u32,
    pub(crate) folder: PathBuf,
}

/// Finds the servers that run in the folders of a home, in the order of [`kind::ALL`].
pub(crate) fn running(home: &Path) -> Vec<Found> {
    let entries = fs::read_dir(home).into_iter().flatten().flatten();
    let folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    let found = |kind: &'static Kind, folder: &PathBuf| {
        let pid = process::recorded(&folder.join(kind.pid_file), folder)?;
        let folder = folder.clone();
        Some(Found { kind, pid, folder })
    };
    let of_kind = |kind| folders.iter().filter_map(move |folder| found(kind, folder));
    kind::ALL.into_iter().flat_map(of_kind).collect()
}

/// Stops the servers that run in a home.
pub(crate) fn stop_all(home: &Path, end: End) -> Result {
    stop(home, &kind::ALL, end)
}

/// Stops the servers of these kinds that run in a home.
pub(crate) fn stop(home: &Path, kinds: &[&Kind], end: End) -> Result {
    let running = running(home).into_iter();
    let mut wanted = running.filter(|found| kinds.contains(&found.kind));
    wanted.try_for_each(|found| process::end(found.pid, &found.folder, found.kind.signal(end)))
}

pub(crate) fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn target_folder() -> Option<PathBuf> {
    let program = env::current_exe().ok()?;
    let folder = program
        .ancestors()
        .find(|folder| folder.join(TARGET_MARK).is_file())?;
    Some(folder.to_owned())
}

/// A folder of its own for each wanted one.
fn stand_in(wanted: &Path) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    wanted.hash(&mut hasher);
    env::temp_dir().join(format!("outbox-servers-{:016x}", hasher.finish()))
}
