//! SQLite files in a temporary folder: filled once and copied for each round, as `template.rs` does it with databases.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::{
    Result, costs::ServerCosts, drain::Ground, program::sqlite::SCHEME, system::System,
    template::Fill,
};

/// The file that a round works in.
const ROUND: &str = "round.db";

/// The files of a run. They go with this value.
#[derive(Debug)]
pub(crate) struct Files {
    folder: TempDir,
    made: BTreeSet<String>,
}

impl Files {
    /// Beside this program, so on a disk: a temporary folder of the system may be in memory.
    pub(crate) fn new() -> Result<Self> {
        let program = std::env::current_exe()?;
        let beside = program.parent().unwrap_or(Path::new("."));
        Ok(Self {
            folder: tempfile::Builder::new()
                .prefix("bench-")
                .tempdir_in(beside)?,
            made: BTreeSet::new(),
        })
    }

    /// Removes what was made for a part of the scenario, to make room.
    pub(crate) fn forget(&mut self) -> Result {
        self.clear()?;
        for name in std::mem::take(&mut self.made) {
            fs::remove_file(self.path(&name))?;
        }
        Ok(())
    }

    /// Removes the file of the last round, and what a program that was killed left beside it.
    fn clear(&self) -> Result {
        for name in [ROUND, "round.db-wal", "round.db-shm"] {
            let path = self.path(name);
            if path.exists() {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Ground for Files {
    type Moment = ();

    async fn lay(&mut self, system: &System, fill: Fill) -> Result<String> {
        let name = format!("{}.db", fill.name(system));
        let template = self.path(&name);
        if self.made.insert(name) {
            system.fill(&url(&template), fill).await?;
        }
        self.clear()?;
        let round = self.path(ROUND);
        fs::copy(template, &round)?;
        // Nothing of the copy is left to be written while the round runs.
        fs::File::open(&round)?.sync_all()?;
        Ok(url(&round))
    }

    async fn moment(&self) -> Result {
        Ok(())
    }

    /// There is no server: the relays do it all.
    async fn used(&self, (): &()) -> Result<Option<ServerCosts>> {
        Ok(None)
    }
}

fn url(path: &Path) -> String {
    format!("{SCHEME}{}", path.display())
}
