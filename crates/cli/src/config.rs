//! `outbox.toml`: what is not on the command line is taken from the environment, then from the file. Both become arguments
//! of the command, so that one parser judges them all.

mod file;
mod merge;
mod reference;

use std::{collections::BTreeMap, env, ffi::OsString, path::PathBuf};

use clap::{ArgMatches, Command, CommandFactory, parser::ValueSource};

use self::file::File;
use crate::{args::Cli, failure::Failure};

/// The file that is read if none is named.
const DEFAULT: &str = "outbox.toml";

/// The arguments of the program, with those that its surroundings add.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) all: Vec<OsString>,
    /// Where added ones come from, by their flag.
    added: BTreeMap<String, String>,
}

impl Arguments {
    /// Adds to the arguments of the program what the environment and the file say.
    pub(crate) fn gather(given: Vec<OsString>) -> Result<Self, Failure> {
        let mut command = Cli::command();
        command.build();
        let lenient = command.clone().ignore_errors(true);
        let unchanged = |all| Self {
            all,
            added: BTreeMap::new(),
        };
        // Help, or arguments that the parser will complain about.
        let Ok(matches) = lenient.try_get_matches_from(&given) else {
            return Ok(unchanged(given));
        };
        let (leaf, path, matches) = leaf(&command, &matches);
        // The demo brings all it needs with it.
        if path.is_empty() || path == ["demo"] {
            return Ok(unchanged(given));
        }
        let file = match named(matches) {
            Some(named) => Some(File::read(&named, &command)?),
            None => File::read_if_there(DEFAULT.as_ref(), &command)?,
        };
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let added = merge::added(leaf, &path, matches, file.as_ref(), &variable)?;
        Ok(Self {
            all: merge::inserted(given, added.iter().flat_map(|it| it.arguments.clone())),
            added: added.into_iter().map(|it| (it.flag, it.source)).collect(),
        })
    }

    /// Where a flag that was not given comes from, for an error about it; `named` is how the parser shows it.
    pub(crate) fn source(&self, named: &str) -> Option<&str> {
        let flag = named.split([' ', '=']).next()?.trim_start_matches('-');
        self.added.get(flag).map(String::as_str)
    }
}

/// The command that was asked for, the names that lead to it, and what was given to it.
fn leaf<'a>(
    root: &'a Command,
    matches: &'a ArgMatches,
) -> (&'a Command, Vec<&'a str>, &'a ArgMatches) {
    let (mut command, mut path, mut matches) = (root, Vec::new(), matches);
    while let Some((name, under)) = matches.subcommand()
        && let Some(next) = command.find_subcommand(name)
    {
        path.push(name);
        (command, matches) = (next, under);
    }
    (command, path, matches)
}

fn named(matches: &ArgMatches) -> Option<PathBuf> {
    let named = matches.try_get_one::<PathBuf>("config").ok().flatten();
    named.cloned()
}

/// Whether the command line, or the variable that the parser knows itself, gave it.
fn is_given(matches: &ArgMatches, id: &str) -> bool {
    let source = matches.try_contains_id(id).is_ok_and(|known| known);
    source
        && matches!(
            matches.value_source(id),
            Some(ValueSource::CommandLine | ValueSource::EnvVariable)
        )
}
