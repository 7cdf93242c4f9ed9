//! A private RabbitMQ: a node of Erlang with a name server of its own. Nothing of the machine's RabbitMQ is read or written.

use std::fmt::Write;
use std::sync::Mutex;

use crate::broker::{self, Broker, Place, Ports, Running, USER, quoted};
use crate::kind::{Kind, RABBITMQ};
use crate::launch::{self, Refusal};
use crate::needs::{Needs, Origin};
use crate::{Result, Server, process, wire};

mod erlang;

use erlang::{environment, start_names};

/// A private RabbitMQ. Its virtual host is `/`, and its user may do everything.
pub type RabbitMq = Server<RabbitMqOptions>;

/// What a RabbitMQ is started with.
#[derive(Clone, Debug, Default)]
pub struct RabbitMqOptions {
    /// The password of the user `outbox`; without one the user is `guest`, whose password is `guest`.
    pub password: Option<String>,
    /// Whether it listens on a second port for TLS.
    pub tls: bool,
    /// Lines of its file of settings, such as `("channel_max", "8")`.
    pub settings: Vec<(String, String)>,
}

/// The share of the machine's memory from which on it takes nothing any more: its own default.
const WATERMARK: &str = "0.4";
/// The programs themselves: those that Debian puts on PATH work for root and for one other account only.
const PROGRAMS: &[&str] = &["/usr/lib/rabbitmq/bin"];

impl Broker for RabbitMqOptions {
    const KIND: &'static Kind = &RABBITMQ;
    const NEEDS: Needs = Needs {
        program: "rabbitmq-server",
        origin: Origin::Package {
            name: "rabbitmq-server",
            folders: PROGRAMS,
        },
        variable: "OUTBOX_TEST_RABBITMQ",
    };

    fn launch(&self, place: &Place<'_>) -> std::result::Result<Running, Refusal> {
        let program = Self::NEEDS.program()?;
        place.write("rabbitmq.conf", &self.conf(place))?;
        place.write("advanced.config", &self.advanced())?;
        place.write("enabled_plugins", "[].\n")?;
        let mut names = start_names(place)?;
        let mut command = place.command(Self::KIND, &program);
        environment(&mut command, place.folder, place.name, place.ports);
        // Ctrl-C ends it, and its command line names the folder, by which it is known again.
        command.args(["+B", "d", "-outbox"]).arg(place.folder);
        let started = launch::start(Self::KIND, command, place.group, place.log, |_| {
            // The first frame of the server names its node.
            wire::answers(place.ports.plain, b"AMQP\0\0\x09\x01", |said| {
                wire::contains(said, place.name)
            })
        });
        match started {
            Ok(server) => {
                let names = Some(names);
                Ok(Running { server, names })
            }
            Err(refusal) => {
                // Without a server it is of no use, and the error to tell is the server's.
                let _ = process::end_child(&mut names, process::Signal::Kill);
                Err(refusal)
            }
        }
    }

    fn wants_tls(&self) -> bool {
        self.tls
    }

    fn url(&self, ports: Ports) -> String {
        format!("amqp://{}", self.authority(ports.plain))
    }

    fn tls_url(&self, ports: Ports) -> String {
        format!("amqps://{}", self.authority(ports.tls))
    }

    fn shared() -> &'static Mutex<Option<RabbitMq>> {
        static SHARED: Mutex<Option<RabbitMq>> = Mutex::new(None);
        &SHARED
    }
}

impl RabbitMq {
    /// Runs rabbitmqctl, such as with `["list_queues", "name"]`, and returns what it answers, without its headings.
    ///
    /// # Errors
    ///
    /// The server does not run, or what rabbitmqctl says.
    pub fn rabbitmqctl(&self, args: &[&str]) -> Result<String> {
        // It would start a name server of its own, which would outlive it.
        self.pid().ok_or_else(|| self.stopped())?;
        let needs = Needs {
            program: "rabbitmqctl",
            ..RabbitMqOptions::NEEDS
        };
        let (account, folder) = (self.account(), self.folder());
        let mut command = account.command(&needs.program()?, &folder);
        environment(&mut command, &folder, &self.name(), self.ports());
        process::read(command.arg("--quiet").args(args))
    }

    /// Sets off the memory alarm, or takes it back. While it is on, nothing that is published is confirmed.
    ///
    /// # Errors
    ///
    /// What rabbitmqctl says.
    pub fn set_memory_alarm(&self, on: bool) -> Result {
        let watermark = if on { "0" } else { WATERMARK };
        self.rabbitmqctl(&["set_vm_memory_high_watermark", watermark])
            .map(drop)
    }
}

impl RabbitMqOptions {
    fn authority(&self, port: u16) -> String {
        match self.password.as_deref() {
            Some(password) => broker::authority(USER, Some(password), port),
            None => broker::authority("guest", Some("guest"), port),
        }
    }

    fn conf(&self, place: &Place<'_>) -> String {
        let Ports { plain, tls, .. } = place.ports;
        let mut conf = format!(
            "\
listeners.tcp.default = 127.0.0.1:{plain}
disk_free_limit.absolute = 1MB
vm_memory_high_watermark.relative = {WATERMARK}
"
        );
        let mut line = |name: &str, value: &str| {
            writeln!(conf, "{name} = {value}").expect("a text takes everything");
        };
        if let Some(certificates) = place.certificates {
            line("listeners.ssl.default", &format!("127.0.0.1:{tls}"));
            line("ssl_options.verify", "verify_none");
            line("ssl_options.fail_if_no_peer_cert", "false");
            for (name, path) in [
                ("ssl_options.cacertfile", certificates.ca()),
                ("ssl_options.certfile", &certificates.certificate()),
                ("ssl_options.keyfile", &certificates.key()),
            ] {
                line(name, &path.to_string_lossy());
            }
        }
        for (name, value) in &self.settings {
            line(name, value);
        }
        conf
    }

    /// The file in Erlang's own notation takes every password; the other one does not.
    fn advanced(&self) -> String {
        let Some(password) = &self.password else {
            return "[].\n".into();
        };
        let password = quoted(password);
        format!(
            "[{{rabbit, [{{default_user, <<\"{USER}\">>}}, {{default_pass, <<{password}/utf8>>}}]}}].\n"
        )
    }
}
