//! A private server of the Kafka protocol: tansu, one static program. It keeps everything in its memory, so a kill and a stop
//! lose it, or in objects that this program keeps for it.

use std::path::PathBuf;
use std::sync::Mutex;

use crate::account::Account;
use crate::broker::{Broker, Place, Ports, Running};
use crate::kind::{KAFKA, Kind};
use crate::launch::{self, Refusal};
use crate::needs::{self, Needs, Origin};
use crate::{Error, Objects, Result, Server, os, process, wire};

/// A private server of the Kafka protocol. It has no topic at first and makes none by itself. Started again it is empty,
/// unless it was started with [`KafkaOptions::objects`].
pub type Kafka = Server<KafkaOptions>;

/// What a Kafka is started with.
#[derive(Clone, Debug, Default)]
pub struct KafkaOptions {
    /// The port on 127.0.0.1 that it tells its clients to use, which is its own if none is given: that of a
    /// [`Proxy`](crate::Proxy) which leads to it. [`Server::url`] has the same one.
    pub advertised: Option<u16>,
    /// Where it keeps its data, so that they are there when it is started again. It is slower then: some milliseconds for
    /// each request.
    pub objects: Option<Objects>,
}

/// The version of what `cargo xtask` brings.
const FOLDER: &str = "tansu-0.6.0";
const PROGRAM: &str = "tansu";
const SCHEME: &str = "kafka://";

/// Asks which requests the server knows, in the form that every server answers: 10 bytes that are the request 18, of
/// version 0 and with this number, from a client that has no name.
const WHICH_REQUESTS: [u8; 14] = *b"\0\0\0\x0a\0\x12\0\0OUTB\xff\xff";

impl Broker for KafkaOptions {
    const KIND: &'static Kind = &KAFKA;
    const NEEDS: Needs = Needs {
        program: PROGRAM,
        origin: Origin::Brought(FOLDER),
        variable: "OUTBOX_TEST_KAFKA",
    };

    fn launch(&self, place: &Place<'_>) -> std::result::Result<Running, Refusal> {
        // A link, so that the command line names the folder, by which the server is known again.
        let program = place.folder.join(PROGRAM);
        if !program.exists() {
            os::link(&Self::NEEDS.program()?, &program)
                .map_err(|error| Error::path(&program, &error))?;
        }
        let port = place.ports.plain;
        let mut command = place.command(Self::KIND, &program);
        let engine = if let Some(objects) = &self.objects {
            objects.open();
            command
                .env("AWS_ENDPOINT", objects.url())
                .env("AWS_ALLOW_HTTP", "true")
                .env("AWS_DEFAULT_REGION", "none")
                // Nobody asks for them, and without them it looks for some on the network.
                .env("AWS_ACCESS_KEY_ID", "none")
                .env("AWS_SECRET_ACCESS_KEY", "none");
            "s3://tansu/"
        } else {
            "memory://tansu/"
        };
        command
            .env("NO_COLOR", "1")
            .args(["broker", "--storage-engine", engine])
            .args(["--cluster-id", "outbox"])
            .args(["--listener-url", &address(port)])
            .arg("--advertised-listener-url")
            .arg(address(self.advertised.unwrap_or(port)));
        let server = launch::start(Self::KIND, command, place.group, place.log, |_| {
            wire::answers(port, &WHICH_REQUESTS, |said| {
                said.get(4..).is_some_and(|said| said.starts_with(b"OUTB"))
            })
        })?;
        let names = None;
        Ok(Running { server, names })
    }

    fn before_end(&self) {
        if let Some(objects) = &self.objects {
            objects.settle();
        }
    }

    fn wants_tls(&self) -> bool {
        false
    }

    fn url(&self, ports: Ports) -> String {
        let port = self.advertised.unwrap_or(ports.plain);
        format!("{SCHEME}127.0.0.1:{port}")
    }

    /// Never asked for, as it speaks no TLS.
    fn tls_url(&self, ports: Ports) -> String {
        self.url(ports)
    }

    fn shared() -> &'static Mutex<Option<Kafka>> {
        static SHARED: Mutex<Option<Kafka>> = Mutex::new(None);
        &SHARED
    }
}

impl Kafka {
    /// Where its program is, or has to be put by whoever brings it.
    ///
    /// # Errors
    ///
    /// This machine starts no servers; the error says why.
    pub fn program() -> Result<PathBuf> {
        needs::brought(FOLDER, PROGRAM)
    }

    /// Makes a topic, directly and not by a proxy.
    ///
    /// # Errors
    ///
    /// There is one of this name, or the server does not run.
    pub fn create_topic(&self, name: &str, partitions: u32) -> Result {
        // The program would try again for half a minute.
        self.pid().ok_or_else(|| self.stopped())?;
        create_topic(&address(self.port()), name, partitions)
    }

    /// Makes a topic on a server of a URL such as that of [`shared`](Self::shared).
    ///
    /// # Errors
    ///
    /// There is one of this name, the server does not answer, or the program that asks it is not here; the error says how
    /// it is brought.
    pub fn create_topic_at(url: &str, name: &str, partitions: u32) -> Result {
        let (_, server) = url.split_once("://").unwrap_or(("", url));
        // More than one server may be named, and options may follow.
        let server = server.split([',', '/', '?']).next().unwrap_or(server);
        create_topic(&format!("tcp://{server}"), name, partitions)
    }
}

fn create_topic(server: &str, name: &str, partitions: u32) -> Result {
    let program = KafkaOptions::NEEDS.program()?;
    let folder = program.with_file_name("");
    let mut command = Account::find()?.command(&program, &folder);
    command
        .env("NO_COLOR", "1")
        .args(["topic", "create", "--broker", server])
        .args(["--partitions", &partitions.to_string(), name]);
    process::run(&mut command)
}

fn address(port: u16) -> String {
    format!("tcp://127.0.0.1:{port}")
}
