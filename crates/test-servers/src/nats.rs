//! A private NATS with JetStream.

use std::fmt::Write;
use std::sync::Mutex;

use crate::broker::{self, Broker, Place, Ports, Running, USER, quoted};
use crate::kind::{Kind, NATS};
use crate::launch::{self, Refusal};
use crate::needs::{Needs, Origin};
use crate::{Server, wire};

/// A private NATS with JetStream.
pub type Nats = Server<NatsOptions>;

/// What a NATS is started with.
#[derive(Clone, Debug, Default)]
pub struct NatsOptions {
    /// The most bytes that a message may have, its headers included; the server's own limit (1 MiB) if none is given.
    pub max_payload: Option<u32>,
    /// What it asks its clients for, whose user is then `outbox`; none if it asks for nothing.
    pub password: Option<String>,
    /// Whether a client may also speak TLS. It is the same port: the server tells every client that it can.
    pub tls: bool,
    /// Lines of its file of settings, such as `("max_connections", "5")`.
    pub settings: Vec<(String, String)>,
}

impl Broker for NatsOptions {
    const KIND: &'static Kind = &NATS;
    const NEEDS: Needs = Needs {
        program: "nats-server",
        origin: Origin::Package {
            name: "nats-server",
            folders: &[],
        },
        variable: "OUTBOX_TEST_NATS",
    };

    fn launch(&self, place: &Place<'_>) -> std::result::Result<Running, Refusal> {
        let conf = place.write("nats.conf", &self.conf(place))?;
        let mut command = place.command(Self::KIND, &Self::NEEDS.program()?);
        command.arg("-c").arg(conf);
        let port = place.ports.plain;
        let server = launch::start(Self::KIND, command, place.group, place.log, |pid| {
            // It writes this file when it listens.
            let file = format!("{}_{pid}.ports", Self::NEEDS.program);
            place.folder.join(file).is_file()
                && wire::answers(port, b"", |said| said.starts_with(b"INFO "))
        })?;
        let names = None;
        Ok(Running { server, names })
    }

    fn wants_tls(&self) -> bool {
        self.tls
    }

    fn url(&self, ports: Ports) -> String {
        let authority = broker::authority(USER, self.password.as_deref(), ports.plain);
        format!("nats://{authority}")
    }

    fn tls_url(&self, ports: Ports) -> String {
        let authority = broker::authority(USER, self.password.as_deref(), ports.plain);
        format!("tls://{authority}")
    }

    fn shared() -> &'static Mutex<Option<Nats>> {
        static SHARED: Mutex<Option<Nats>> = Mutex::new(None);
        &SHARED
    }
}

impl NatsOptions {
    fn conf(&self, place: &Place<'_>) -> String {
        let port = place.ports.plain;
        let name = place.name;
        let folder = quoted(&place.folder.to_string_lossy());
        let mut conf = format!(
            "\
host: 127.0.0.1
port: {port}
server_name: {name}
ports_file_dir: {folder}
jetstream {{ store_dir: {folder} }}
"
        );
        let mut line = |name: &str, value: &str| {
            writeln!(conf, "{name}: {value}").expect("a text takes everything");
        };
        if let Some(bytes) = self.max_payload {
            line("max_payload", &bytes.to_string());
        }
        if let Some(password) = &self.password {
            let password = quoted(password);
            line(
                "authorization",
                &format!("{{ user: {USER}, password: {password} }}"),
            );
        }
        if let Some(certificates) = place.certificates {
            let certificate = quoted(&certificates.certificate().to_string_lossy());
            let key = quoted(&certificates.key().to_string_lossy());
            line(
                "tls",
                &format!("{{ cert_file: {certificate}, key_file: {key} }}"),
            );
            line("allow_non_tls", "true");
        }
        for (name, value) in &self.settings {
            line(name, value);
        }
        conf
    }
}
