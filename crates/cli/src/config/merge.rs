//! What the environment and the file add to the arguments of one command.

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::{
    file::{File, is_ours},
    is_given,
};
use crate::{exit::Exit, failure::Failure};

/// Arguments that were not given.
#[derive(Debug)]
pub(super) struct Added {
    /// The flag, without its dashes.
    pub(super) flag: String,
    /// Where it was found.
    pub(super) source: String,
    pub(super) arguments: Vec<OsString>,
}

/// What a command is to have beside what it was given: of each option that was not given, and that no given one excludes,
/// the variable `OUTBOX_` and its name, and else what the file says.
pub(super) fn added(
    command: &Command,
    path: &[&str],
    matches: &ArgMatches,
    file: Option<&File>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<Added>, Failure> {
    let mut all = Vec::new();
    for argument in command.get_arguments() {
        let Some(flag) = argument.get_long().filter(|flag| !is_ours(flag)) else {
            continue;
        };
        if is_given(matches, argument.get_id().as_str()) || is_excluded(command, argument, matches)
        {
            continue;
        }
        let name = variable_of(flag);
        let (source, texts) = if let Some(text) = variable(&name) {
            (name, vec![text])
        } else if let Some(file) = file
            && let Some(value) = file.find(path, flag)
        {
            (file.shown(), file.texts(flag, value)?)
        } else {
            continue;
        };
        let arguments = arguments(argument, flag, &source, &texts)?;
        all.push(Added {
            flag: flag.to_owned(),
            source,
            arguments,
        });
    }
    Ok(all)
}

/// The arguments with more of them, before those that only stand by their place.
pub(super) fn inserted(
    given: Vec<OsString>,
    more: impl Iterator<Item = OsString>,
) -> Vec<OsString> {
    let end = given.iter().position(|argument| argument == "--");
    let end = end.unwrap_or(given.len());
    let mut all = given;
    all.splice(end..end, more);
    all
}

/// Whether something was given that cannot stand beside it.
fn is_excluded(command: &Command, argument: &Arg, matches: &ArgMatches) -> bool {
    let excludes = |one: &Arg, other: &Arg| {
        let mut conflicts = command.get_arg_conflicts_with(one).into_iter();
        conflicts.any(|conflict| conflict.get_id() == other.get_id())
    };
    command
        .get_arguments()
        .filter(|other| is_given(matches, other.get_id().as_str()))
        .any(|other| excludes(argument, other) || excludes(other, argument))
}

fn arguments(
    argument: &Arg,
    flag: &str,
    source: &str,
    texts: &[String],
) -> Result<Vec<OsString>, Failure> {
    let refuse = |what: &str| Failure::new(Exit::Input, format!("{source}: {flag} {what}"));
    match (argument.get_action(), texts) {
        (ArgAction::SetTrue, [text]) => match text.as_str() {
            "true" | "1" => Ok(vec![format!("--{flag}").into()]),
            "false" | "0" => Ok(Vec::new()),
            _ => Err(refuse("is true or false")),
        },
        (ArgAction::Append, texts) => Ok(texts
            .iter()
            .map(|text| format!("--{flag}={text}").into())
            .collect()),
        (_, [text]) => Ok(vec![format!("--{flag}={text}").into()]),
        _ => Err(refuse("takes one value, no list")),
    }
}

/// The variable of a flag.
pub(super) fn variable_of(flag: &str) -> String {
    format!("OUTBOX_{}", flag.replace('-', "_").to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use clap::{Parser, Subcommand};

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(subcommand)]
        command: Sub,
    }

    #[derive(Debug, Subcommand)]
    enum Sub {
        Relay {
            #[arg(long)]
            lease: Option<String>,
            #[arg(long, conflicts_with = "route")]
            to: Option<String>,
            #[arg(long)]
            route: Vec<String>,
            #[arg(long)]
            wake_up: bool,
        },
    }

    fn added_to(given: &[&str], variables: &[(&str, &str)]) -> Vec<String> {
        use clap::CommandFactory;
        let mut command = Line::command();
        command.build();
        let matches = command.clone().get_matches_from(given);
        let matches = matches.subcommand_matches("relay").unwrap();
        let relay = command.find_subcommand("relay").unwrap();
        let variable = |name: &str| {
            let mut variables = variables.iter();
            let found = variables.find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let added = added(relay, &["relay"], matches, None, &variable).unwrap();
        let arguments = added.into_iter().flat_map(|added| added.arguments);
        arguments.map(|it| it.into_string().unwrap()).collect()
    }

    #[test]
    fn the_command_line_wins_over_the_environment() {
        let variables = [("OUTBOX_LEASE", "5s"), ("OUTBOX_WAKE_UP", "true")];
        assert_eq!(
            added_to(&["outbox", "relay"], &variables),
            ["--lease=5s", "--wake-up"]
        );
        assert_eq!(
            added_to(
                &["outbox", "relay", "--lease", "1s", "--wake-up"],
                &variables
            ),
            [""; 0]
        );
    }

    #[test]
    fn what_a_given_option_excludes_is_left_out() {
        let variables = [("OUTBOX_TO", "stdout:")];
        assert_eq!(added_to(&["outbox", "relay"], &variables), ["--to=stdout:"]);
        assert_eq!(
            added_to(&["outbox", "relay", "--route", "*=stdout:"], &variables),
            [""; 0]
        );
    }

    #[test]
    fn more_arguments_stand_before_those_that_stand_by_their_place() {
        let given = ["outbox", "a", "--", "b"].map(OsString::from).to_vec();
        let all = inserted(given, [OsString::from("--c")].into_iter());
        assert_eq!(all, ["outbox", "a", "--c", "--", "b"]);
    }
}
