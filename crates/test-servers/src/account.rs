//! The account that servers run as: the own one, or an ordinary one if this program is run by root.

use std::env;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::os;
use crate::{Error, Result};

/// The accounts that root lends to a server, the better one first.
const ORDINARY: [&str; 2] = ["postgres", "nobody"];

/// How the variables begin that servers and their tools read: Postgres, RabbitMQ and its Erlang, Redis, Kafka and what it
/// keeps its data with, and what a system tells a service.
const OF_SERVERS: [&str; 8] = [
    "PG",
    "RABBITMQ_",
    "ERL_",
    "REDISCLI_",
    "AWS_",
    "OTEL_",
    "SCHEMA_REGISTRY",
    "NOTIFY_",
];

const PASSWD: &str = "/etc/passwd";

/// Who runs the servers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    uid: u32,
    gid: u32,
    /// It is not the account of this program, which is root's.
    lent: bool,
}

impl Account {
    pub(crate) fn find() -> Result<Self> {
        if !cfg!(unix) {
            return Err(Error::new(
                "test servers are started on Unix only",
                "set OUTBOX_TEST_POSTGRES, and so on, to the URLs of servers for tests",
            ));
        }
        let (uid, gid) = (id("-u")?, id("-g")?);
        if uid != 0 {
            let lent = false;
            return Ok(Self { uid, gid, lent });
        }
        let passwd = fs::read_to_string(PASSWD).unwrap_or_default();
        let (uid, gid) = ordinary(&passwd).ok_or_else(|| {
            Error::new(
                format!("root runs no test servers, and {PASSWD} has no postgres and no nobody"),
                "run this as an ordinary user",
            )
        })?;
        let lent = true;
        Ok(Self { uid, gid, lent })
    }

    pub(crate) fn uid(self) -> u32 {
        self.uid
    }

    /// Begins a command of this account in a folder. The caller's own variables for such servers do not reach it.
    pub(crate) fn command(self, program: &Path, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(folder).env("LC_ALL", "C");
        for (name, _) in env::vars_os().filter(|(name, _)| is_of_a_server(&name.to_string_lossy()))
        {
            command.env_remove(name);
        }
        if self.lent {
            // Root's home is closed to it.
            command.env_remove("HOME");
            os::run_as(&mut command, self.uid, self.gid);
        }
        command
    }

    /// Makes a folder that is this account's alone.
    pub(crate) fn make_folder(self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        os::set_mode(folder, 0o700)?;
        self.take(folder)
    }

    /// Makes a folder of this program in which the account may have folders. One that somebody else made is refused.
    pub(crate) fn make_base(self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let own = if self.lent { 0 } else { self.uid };
        if !os::is_owned_by(folder, own)? {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        os::set_mode(folder, 0o755)?;
        if self.reaches(folder) {
            return Ok(());
        }
        Err(io::ErrorKind::PermissionDenied.into())
    }

    /// Writes a file that the account can read.
    pub(crate) fn write(self, path: &Path, text: &str) -> io::Result<()> {
        fs::write(path, text)?;
        self.take(path)
    }

    /// Says whether the account can enter the folder.
    fn reaches(self, folder: &Path) -> bool {
        // The folder is entered as the account, after the account was changed.
        let mut nothing = self.command(Path::new("true"), folder);
        nothing.status().is_ok_and(|status| status.success())
    }

    fn take(self, path: &Path) -> io::Result<()> {
        if self.lent {
            os::give(path, self.uid, self.gid)?;
        }
        Ok(())
    }
}

/// Says whether a server or one of its tools would read this variable.
fn is_of_a_server(name: &str) -> bool {
    let mut first_letters = OF_SERVERS.iter();
    first_letters.any(|letters| name.starts_with(letters))
}

fn id(which: &str) -> Result<u32> {
    let output = Command::new("id").arg(which).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.ok()
        .and_then(|text| text.trim().parse().ok())
        .ok_or_else(|| {
            Error::new(
                format!("`id {which}` does not tell who runs this"),
                "put id, a basic program of every Unix, on PATH",
            )
        })
}

/// Finds the ids of an ordinary account in the text of the list of accounts.
fn ordinary(passwd: &str) -> Option<(u32, u32)> {
    ORDINARY.iter().find_map(|wanted| {
        let mut accounts = passwd.lines().map(|line| line.split(':'));
        let mut account = accounts.find(|account| account.clone().next() == Some(wanted))?;
        Some((account.nth(2)?.parse().ok()?, account.next()?.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_lends_the_account_of_postgres_or_else_of_nobody() {
        let nobody = "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65533:nobody:/:/bin/false\n";
        assert_eq!(ordinary(nobody), Some((65534, 65533)));
        let both = format!("{nobody}postgres:x:101:104:Postgres,,,:/var/lib/postgresql:/bin/sh\n");
        assert_eq!(ordinary(&both), Some((101, 104)));
        assert_eq!(ordinary("root:x:0:0:root:/root:/bin/bash\n"), None);
    }

    #[test]
    fn variables_of_servers_are_known_by_their_first_letters() {
        assert!(is_of_a_server("PGHOST"));
        assert!(is_of_a_server("RABBITMQ_NODENAME"));
        assert!(!is_of_a_server("PATH"));
        assert!(!is_of_a_server("OUTBOX_TEST_POSTGRES"));
    }
}
