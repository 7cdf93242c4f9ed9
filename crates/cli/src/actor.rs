//! Who gives a command, for the audit.

use std::{env, fs};

use clap::Args;
use outbox::store::Command;
use serde_json::{Map, Value};

/// On whose behalf a command changes the store.
#[derive(Debug, Args)]
pub(crate) struct ActorArgs {
    /// Who does it, for `outbox audit` [default: USER@HOST]
    #[arg(long = "as", value_name = "WHO")]
    who: Option<String>,
}

impl ActorArgs {
    /// The command that applies to what these say; what is not given is left out.
    pub(crate) fn command<const N: usize>(&self, filter: [(&str, Option<String>); N]) -> Command {
        let given = filter
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), Value::String(value?))));
        let filter = Value::Object(given.collect::<Map<_, _>>()).to_string();
        let who = self.who.clone().unwrap_or_else(default_who);
        Command::new(&who, &filter)
    }
}

/// The user and the host as the surroundings name them.
fn default_who() -> String {
    let named = |names: &[&str]| {
        let mut values = names.iter().filter_map(|name| env::var(name).ok());
        values.find(|value| !value.is_empty())
    };
    let read = |path| fs::read_to_string(path).ok();
    let user = named(&["USER", "LOGNAME", "USERNAME"]);
    let host = named(&["HOSTNAME", "COMPUTERNAME"])
        .or_else(|| read("/proc/sys/kernel/hostname"))
        .or_else(|| read("/etc/hostname"));
    let shown = |name: Option<String>| {
        let name = name.as_deref().map(str::trim).unwrap_or_default();
        if name.is_empty() { "unknown" } else { name }.to_owned()
    };
    format!("{}@{}", shown(user), shown(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_says_who_and_to_what_it_applies() {
        let given = ActorArgs {
            who: Some("ann".to_owned()),
        };
        let command = given.command([("topic", Some("a\"b".to_owned())), ("key", None)]);
        assert_eq!(
            (command.who(), command.filter()),
            ("ann", r#"{"topic":"a\"b"}"#)
        );
        let unnamed = ActorArgs { who: None }.command([]);
        assert!(unnamed.who().contains('@'));
        assert_eq!(unnamed.filter(), "{}");
    }
}
