//! What the brokers have in common before they run: the ports and the place that one is given, and what it makes of them.
//! How a running one is handled is in `server.rs`.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Mutex;

use crate::account::Account;
use crate::certificates::Certificates;
use crate::home::Home;
use crate::kind::{End, Kind};
use crate::launch::{Group, Refusal};
use crate::needs::Needs;
use crate::{Error, Result, Server, port, process};

/// The user of a RabbitMQ or a NATS that was started with a password.
pub(crate) const USER: &str = "outbox";

/// The file in a broker's folder that tells people its URL.
const URL: &str = "url";

/// Options of a server that is started by [`Server::start`]: those of RabbitMQ, NATS, Redis or Kafka.
pub trait Broker: Clone + Debug + Default + Send + Sync + 'static {
    #[doc(hidden)]
    const KIND: &'static Kind;
    #[doc(hidden)]
    const NEEDS: Needs;

    /// Starts the server over what is in its folder and waits until it takes connections.
    #[doc(hidden)]
    fn launch(&self, place: &Place<'_>) -> std::result::Result<Running, Refusal>;

    /// What is done before the server is told to end, or killed.
    #[doc(hidden)]
    fn before_end(&self) {}

    #[doc(hidden)]
    fn wants_tls(&self) -> bool;

    #[doc(hidden)]
    fn url(&self, ports: Ports) -> String;

    #[doc(hidden)]
    fn tls_url(&self, ports: Ports) -> String;

    /// The one server of this kind that the tests of a program share.
    #[doc(hidden)]
    fn shared() -> &'static Mutex<Option<Server<Self>>>;
}

/// The ports on 127.0.0.1 that a server may take. Not every one needs them all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    pub(crate) plain: u16,
    pub(crate) tls: u16,
    /// Between the nodes of Erlang, and of their name server.
    pub(crate) nodes: u16,
    pub(crate) names: u16,
}

impl Ports {
    /// Finds free ones, this one for clients if possible.
    pub(crate) fn free(preferred: Option<u16>) -> Result<Self> {
        let [plain, tls, nodes, names] = port::free_ones(preferred)?;
        Ok(Self {
            plain,
            tls,
            nodes,
            names,
        })
    }
}

/// Where and as whom a server runs.
#[derive(Debug)]
pub struct Place<'a> {
    pub(crate) account: Account,
    /// The server's own folder.
    pub(crate) folder: &'a Path,
    /// Unlike any other name of this checkout.
    pub(crate) name: &'a str,
    pub(crate) log: &'a Path,
    pub(crate) ports: Ports,
    pub(crate) certificates: Option<&'a Certificates>,
    pub(crate) group: Group,
}

impl Place<'_> {
    /// Begins a command in the folder, which writes its process id there before it becomes the program. So it is found
    /// however early this program is killed.
    pub(crate) fn command(&self, kind: &Kind, program: &Path) -> Command {
        let mut command = self.account.command(Path::new("sh"), self.folder);
        command.args(["-c", r#"echo $$ >"$0" && exec "$@""#]);
        command.arg(self.folder.join(kind.pid_file)).arg(program);
        command
    }

    /// Writes a file of settings, one a line.
    pub(crate) fn write(&self, name: &str, text: &str) -> std::result::Result<PathBuf, Refusal> {
        let path = self.folder.join(name);
        match self.account.write(&path, text) {
            Ok(()) => Ok(path),
            Err(error) => Err(Refusal::Other(Error::path(&path, &error))),
        }
    }
}

/// The processes of one server.
#[derive(Debug)]
pub struct Running {
    pub(crate) server: Child,
    /// The name server of Erlang, which RabbitMQ needs.
    pub(crate) names: Option<Child>,
}

impl Running {
    pub(crate) fn end(mut self, kind: &Kind, end: End) -> Result {
        let ended = process::end_child(&mut self.server, kind.signal(end));
        let names = self.names.as_mut();
        let names = names.map(|names| process::end_child(names, process::Signal::Kill));
        ended.and(names.transpose()).map(drop)
    }
}

/// Starts a server in its own folder of a home, and writes down its URL there.
pub(crate) fn launch<B: Broker>(
    options: &B,
    (home, account): (&Home, Account),
    ports: Ports,
    certificates: Option<&Certificates>,
    group: Group,
) -> std::result::Result<Running, Refusal> {
    let folder = home.folder().join(B::KIND.name);
    let made = account
        .make_folder(&folder)
        .and_then(|()| account.write(&folder.join(URL), &options.url(ports)));
    made.map_err(|error| Refusal::Other(Error::path(&folder, &error)))?;
    options.launch(&Place {
        account,
        folder: &folder,
        name: &name(home),
        log: &home.log(),
        ports,
        certificates,
        group,
    })
}

/// Names the server of a home as no other of this checkout is named.
pub(crate) fn name(home: &Home) -> String {
    let name = home.folder().file_name().unwrap_or_default();
    format!("outbox-{}", name.to_string_lossy())
}

/// Reads the URL of the server that works in this folder.
pub(crate) fn recorded_url(folder: &Path) -> Option<String> {
    std::fs::read_to_string(folder.join(URL)).ok()
}

/// Writes the credentials and the address of a URL.
pub(crate) fn authority(user: &str, password: Option<&str>, port: u16) -> String {
    match password {
        Some(password) => format!("{user}:{}@127.0.0.1:{port}", escaped(password)),
        None => format!("127.0.0.1:{port}"),
    }
}

/// Writes what a URL cannot take as it is in percent escapes.
fn escaped(text: &str) -> String {
    let escaped = |byte: u8| {
        let plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if plain {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    text.bytes().map(escaped).collect()
}

/// Writes a text between double quotes, as NATS, Redis and Erlang read it.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_escaped_in_a_url_and_quoted_in_a_file() {
        assert_eq!(authority("", None, 17_001), "127.0.0.1:17001");
        assert_eq!(
            authority("outbox", Some("p@ss/wörd"), 17_001),
            "outbox:p%40ss%2Fw%C3%B6rd@127.0.0.1:17001"
        );
        assert_eq!(quoted(r#"a\b"c"#), r#""a\\b\"c""#);
    }

    #[test]
    fn the_ports_of_one_server_are_different_ones() {
        let Ports {
            plain,
            tls,
            nodes,
            names,
        } = Ports::free(None).unwrap();
        let mut ports = vec![plain, tls, nodes, names];
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 4);
    }
}
