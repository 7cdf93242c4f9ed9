//! `outbox migrate`: makes or upgrades the outbox tables, or prints the statements that would.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use outbox::migrations::{MigrationFile, Tool};
use serde::Serialize;

use crate::{args::StoreArgs, exit::Exit, failure::Failure, output::Output, store};

/// Make or upgrade the outbox tables; no other command changes them
///
/// On SQLite it makes the database file if it is not there, and sets it to write-ahead logging; the application's own tables may be in the same file. On Postgres it makes the schema that the tables stand in. Doing it again does nothing more.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outbox migrate --store sqlite:orders.db
  outbox migrate --store postgres://owner@localhost/shop --schema outbox
  outbox migrate --store postgres://localhost/shop --print > outbox.sql
  outbox migrate --store postgres://localhost/shop --files sqlx --dir migrations

Exit codes: 0 done, 2 wrong option, 4 and 5 the store (see outbox --help)")]
pub(crate) struct MigrateArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// Print the SQL and touch nothing
    #[arg(long)]
    print: bool,
    /// Write the SQL as migration files of this tool instead, up and down, for an application that runs its own
    #[arg(long, value_name = "TOOL", conflicts_with = "print", requires = "dir")]
    files: Option<ToolArg>,
    /// The folder of migrations that --files writes to
    #[arg(long, value_name = "DIR", requires = "files")]
    dir: Option<PathBuf>,
}

/// A tool that runs migrations from files.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ToolArg {
    Sqlx,
    Diesel,
}

impl From<ToolArg> for Tool {
    fn from(tool: ToolArg) -> Self {
        match tool {
            ToolArg::Sqlx => Self::Sqlx,
            ToolArg::Diesel => Self::Diesel,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Shown {
    /// Whether anything had to be done.
    Migrated(bool),
    Sql(String),
    /// The files that there are now.
    Files(Vec<String>),
}

pub(crate) async fn run(args: MigrateArgs, output: Output) -> Result<Exit, Failure> {
    if args.print {
        let sql = store::script(&args.store)?;
        output.result(&Shown::Sql(sql.clone()), || sql)?;
        return Ok(Exit::Done);
    }
    if let (Some(tool), Some(dir)) = (args.files, args.dir) {
        let files = write(&store::files(&args.store, tool.into())?, &dir)?;
        output.result(&Shown::Files(files.clone()), || files.join("\n"))?;
        return Ok(Exit::Done);
    }
    let migrated = store::migrate(&args.store).await?;
    output.result(&Shown::Migrated(migrated), || {
        if migrated {
            "the outbox tables were brought up to date".to_owned()
        } else {
            "the outbox tables were up to date already; nothing was done".to_owned()
        }
    })?;
    Ok(Exit::Done)
}

/// Writes the files. One that is there already stays: the tool may have run it.
fn write(files: &[MigrationFile], dir: &Path) -> Result<Vec<String>, Failure> {
    let mut written = Vec::new();
    for file in files {
        let path = dir.join(&file.path);
        let failed = |error: io::Error| {
            let what = format!("cannot write {}: {error}", path.display());
            Failure::new(Exit::Input, what)
        };
        match fs::read_to_string(&path) {
            Ok(found) if found == file.contents => {}
            Ok(_) => {
                let what = format!("{} is there and says something else", path.display());
                return Err(Failure::new(Exit::Input, what)
                    .hint("nothing of it was changed; move it away if no database has run it"));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(path.parent().unwrap_or(dir)).map_err(failed)?;
                fs::write(&path, &file.contents).map_err(failed)?;
            }
            Err(error) => return Err(failed(error)),
        }
        written.push(path.display().to_string());
    }
    Ok(written)
}
