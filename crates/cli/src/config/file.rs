//! The file: reading it, refusing what no command knows, and finding what a command is to have.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use clap::Command;
use toml::{Table, Value};

use super::reference;
use crate::{exit::Exit, failure::Failure};

/// A file that was read: options for every command that has them, and tables of options named like commands.
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
    table: Table,
}

impl File {
    /// Reads a file that somebody named.
    pub(super) fn read(path: &Path, commands: &Command) -> Result<Self, Failure> {
        let text = fs::read_to_string(path).map_err(|error| {
            let what = format!("cannot read {}: {error}", path.display());
            Failure::new(Exit::Input, what)
        })?;
        Self::parse(path, &text, commands)
    }

    /// Reads a file that need not be there.
    pub(super) fn read_if_there(path: &Path, commands: &Command) -> Result<Option<Self>, Failure> {
        match fs::metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            _ => Self::read(path, commands).map(Some),
        }
    }

    fn parse(path: &Path, text: &str, commands: &Command) -> Result<Self, Failure> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            let line = error
                .span()
                .map(|span| text[..span.start].lines().count().max(1));
            let line = line.map_or(String::new(), |line| format!(", line {line}"));
            // The parser's own text shows the line, which may hold a password.
            let what = format!("{}{line}: {}", path.display(), error.message());
            Failure::new(Exit::Input, what)
        })?;
        let file = Self {
            path: path.to_owned(),
            table,
        };
        file.check(&file.table, commands, "")?;
        Ok(file)
    }

    /// Refuses what no command knows, so that a typo is not a setting that silently has no effect.
    fn check(&self, table: &Table, command: &Command, within: &str) -> Result<(), Failure> {
        for (key, value) in table {
            let place = format!("{within}{key}");
            match (value, command.find_subcommand(key)) {
                (Value::Table(inner), Some(inner_command)) => {
                    self.check(inner, inner_command, &format!("{place}."))?;
                }
                (Value::Table(_), None) => {
                    let names = command.get_subcommands().map(Command::get_name);
                    let names: Vec<&str> = names.filter(|name| *name != "help").collect();
                    let what = format!("{}: no command is called {place}", self.path.display());
                    return Err(Failure::new(Exit::Input, what).hint(format!(
                        "a table is named like a command: {}",
                        names.join(", ")
                    )));
                }
                _ if knows(command, &flag(key)) => {}
                _ => {
                    let what = format!("{}: there is no option {place}", self.path.display());
                    let hint = "an option is named like its flag: lease for --lease; see --help";
                    return Err(Failure::new(Exit::Input, what).hint(hint));
                }
            }
        }
        Ok(())
    }

    /// What the file says of an option of a command: its own table first, then those it lies in.
    pub(super) fn find(&self, path: &[&str], option: &str) -> Option<&Value> {
        let mut tables = vec![&self.table];
        for name in path {
            match tables[tables.len() - 1].get(*name) {
                Some(Value::Table(table)) => tables.push(table),
                _ => break,
            }
        }
        let entries = tables.into_iter().rev().flatten();
        let mut named = entries.filter(|(key, value)| flag(key) == option && !value.is_table());
        named.next().map(|(_, value)| value)
    }

    /// A value as the texts that the command line would have; references to secrets are resolved.
    pub(super) fn texts(&self, option: &str, value: &Value) -> Result<Vec<String>, Failure> {
        let one = |value: &Value| match value {
            Value::String(text) => reference::resolve(text).map_err(|error| {
                let what = format!("{}: {option}: {error}", self.path.display());
                Failure::new(Exit::Input, what)
            }),
            Value::Integer(number) => Ok(number.to_string()),
            Value::Float(number) => Ok(number.to_string()),
            Value::Boolean(value) => Ok(value.to_string()),
            _ => {
                let what = format!(
                    "{}: {option} is a {}; write text, a number, true or false, or a list of texts",
                    self.path.display(),
                    value.type_str()
                );
                Err(Failure::new(Exit::Input, what))
            }
        };
        match value {
            Value::Array(values) => values.iter().map(one).collect(),
            value => one(value).map(|text| vec![text]),
        }
    }

    /// Its path, for people.
    pub(super) fn shown(&self) -> String {
        self.path.display().to_string()
    }
}

/// Whether a command, or one in it, has the flag.
fn knows(command: &Command, flag: &str) -> bool {
    let mut arguments = command.get_arguments();
    arguments.any(|argument| argument.get_long() == Some(flag) && !is_ours(flag))
        || command.get_subcommands().any(|under| knows(under, flag))
}

/// Flags that mean nothing in a file: those about the call itself, and the one that chooses everything, which is said by hand.
pub(super) fn is_ours(flag: &str) -> bool {
    matches!(flag, "all" | "config" | "help" | "version")
}

/// The flag that a key of the file stands for.
fn flag(key: &str) -> String {
    key.replace('_', "-")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    fn parse(text: &str) -> Result<File, Failure> {
        let mut command = Cli::command();
        command.build();
        File::parse("outbox.toml".as_ref(), text, &command)
    }

    #[test]
    fn a_command_s_own_table_wins_over_what_all_have() {
        let file =
            parse("store = 'sqlite:a.db'\nlease = '1s'\n[relay]\nlease = '2s'\nmax_attempts = 3\n");
        let file = file.unwrap();
        let text = |option| {
            let value = file.find(&["relay"], option).unwrap();
            file.texts(option, value).unwrap().remove(0)
        };
        assert_eq!(
            (text("store"), text("lease"), text("max-attempts")),
            ("sqlite:a.db".to_owned(), "2s".to_owned(), "3".to_owned())
        );
        assert_eq!(file.find(&["status"], "max-attempts"), None);
    }

    #[test]
    fn what_no_command_knows_is_refused_by_name() {
        let refused = |text| parse(text).unwrap_err().to_string();
        assert!(refused("lese = '1s'").contains("there is no option lese"));
        assert!(refused("[relay]\nlese = '1s'").contains("there is no option relay.lese"));
        assert!(refused("[rely]\nlease = '1s'").contains("no command is called rely"));
        assert!(refused("config = 'a.toml'").contains("there is no option config"));
    }

    #[test]
    fn a_line_that_is_no_toml_is_named_and_not_shown() {
        let refused = parse("lease = '1s'\nstore = postgres://app:secret@db/x\n").unwrap_err();
        assert!(
            refused.to_string().contains("outbox.toml, line 2"),
            "{refused}"
        );
        assert!(!refused.to_string().contains("secret"), "{refused}");
    }
}
