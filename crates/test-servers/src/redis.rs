//! A private Redis. Everything is appended to a file, so what was answered outlives a kill.

use std::fmt::Write;
use std::sync::Mutex;

use crate::broker::{self, Broker, Place, Ports, Running, quoted};
use crate::kind::{Kind, REDIS};
use crate::launch::{self, Refusal};
use crate::needs::{Needs, Origin};
use crate::{Error, Result, Server, binaries, process, wire};

/// A private Redis.
pub type Redis = Server<RedisOptions>;

/// What a Redis is started with.
#[derive(Clone, Debug, Default)]
pub struct RedisOptions {
    /// What it asks its clients for; none if it asks for nothing.
    pub password: Option<String>,
    /// Whether it listens on a second port for TLS.
    pub tls: bool,
    /// Lines of its file of settings, such as `("maxmemory", "8mb")`.
    pub settings: Vec<(String, String)>,
}

impl Broker for RedisOptions {
    const KIND: &'static Kind = &REDIS;
    const NEEDS: Needs = Needs {
        program: "redis-server",
        origin: Origin::Package {
            name: "redis-server",
            folders: &[],
        },
        variable: "OUTBOX_TEST_REDIS",
    };

    fn launch(&self, place: &Place<'_>) -> std::result::Result<Running, Refusal> {
        let conf = place.write("redis.conf", &self.conf(place))?;
        let mut command = place.command(Self::KIND, &Self::NEEDS.program()?);
        command.arg(conf);
        let password = self.password.as_deref();
        let server = launch::start(Self::KIND, command, place.group, place.log, |pid| {
            is_ready(place.ports.plain, password, pid)
        })?;
        let names = None;
        Ok(Running { server, names })
    }

    fn wants_tls(&self) -> bool {
        self.tls
    }

    fn url(&self, ports: Ports) -> String {
        let authority = broker::authority("", self.password.as_deref(), ports.plain);
        format!("redis://{authority}")
    }

    fn tls_url(&self, ports: Ports) -> String {
        let authority = broker::authority("", self.password.as_deref(), ports.tls);
        format!("rediss://{authority}")
    }

    fn shared() -> &'static Mutex<Option<Redis>> {
        static SHARED: Mutex<Option<Redis>> = Mutex::new(None);
        &SHARED
    }
}

impl Redis {
    /// Runs a command in redis-cli and returns what it answers.
    ///
    /// # Errors
    ///
    /// redis-cli is not installed, or what it says.
    pub fn redis_cli(&self, args: &[&str]) -> Result<String> {
        let program = binaries::program("redis-cli").ok_or_else(|| {
            let fix = "install it (Debian and Ubuntu: apt-get install redis-tools)";
            Error::new("redis-cli is not installed", fix)
        })?;
        let mut command = self.account().command(&program, &self.folder());
        if let Some(password) = &self.options().password {
            command.env("REDISCLI_AUTH", password);
        }
        let port = self.port().to_string();
        process::read(command.args(["-e", "-p", &port]).args(args))
    }
}

impl RedisOptions {
    /// The title of the process is the path of the file, by which it is known again.
    fn conf(&self, place: &Place<'_>) -> String {
        let Ports { plain, tls, .. } = place.ports;
        let folder = quoted(&place.folder.to_string_lossy());
        let mut conf = format!(
            "\
bind 127.0.0.1
port {plain}
dir {folder}
proc-title-template \"{{config-file}}\"
appendonly yes
save \"\"
"
        );
        let mut line = |name: &str, value: &str| {
            writeln!(conf, "{name} {value}").expect("a text takes everything");
        };
        if let Some(password) = &self.password {
            line("requirepass", &quoted(password));
        }
        if let Some(certificates) = place.certificates {
            line("tls-port", &tls.to_string());
            line("tls-auth-clients", "no");
            for (name, path) in [
                ("tls-ca-cert-file", certificates.ca()),
                ("tls-cert-file", &certificates.certificate()),
                ("tls-key-file", &certificates.key()),
            ] {
                line(name, &quoted(&path.to_string_lossy()));
            }
        }
        for (name, value) in &self.settings {
            line(name, value);
        }
        conf
    }
}

/// Says whether the server of this process answers and has read its data.
fn is_ready(port: u16, password: Option<&str>, pid: u32) -> bool {
    let mut say = password.map_or_else(Vec::new, |password| {
        format!("*2\r\n$4\r\nAUTH\r\n${}\r\n{password}\r\n", password.len()).into_bytes()
    });
    say.extend_from_slice(b"INFO server\r\nPING\r\n");
    let own = format!("process_id:{pid}\r\n");
    wire::answers(port, &say, |said| {
        wire::contains(said, &own) && said.ends_with(b"+PONG\r\n")
    })
}
