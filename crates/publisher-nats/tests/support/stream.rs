//! A stream on a real server that one test has for itself, with a proxy before the server, and what arrived there.

use std::{
    path::PathBuf,
    process,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_nats::{Client, ConnectOptions};
use base64::{Engine, prelude::BASE64_STANDARD};
use outbox_publisher_nats::NatsPublisher;
use outbox_test_servers::{Nats, NatsOptions, Proxy};
use serde_json::{Value, json};

/// The password of every server here.
pub(crate) const PASSWORD: &str = "pass:w/rd@7";

/// A stream with one subject prefix.
pub(crate) struct TestStream {
    /// A server of its own, if the test strikes it.
    pub(crate) own: Option<Nats>,
    pub(crate) proxy: Proxy,
    /// The name of the stream, which is the first token of its subjects too.
    pub(crate) name: String,
    ca: PathBuf,
    client: Client,
    stored: Vec<Stored>,
}

/// A message of the stream.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) subject: String,
    pub(crate) payload: Vec<u8>,
    /// In the order of the wire.
    pub(crate) headers: Vec<(String, String)>,
}

impl Stored {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.payload).into_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let (_, value) = headers.find(|(other, _)| other == name)?;
        Some(value)
    }
}

fn options() -> NatsOptions {
    NatsOptions {
        password: Some(PASSWORD.to_owned()),
        tls: true,
        ..NatsOptions::default()
    }
}

/// One server for all tests of this program that do not strike it; it ends with the program.
fn shared() -> &'static Nats {
    static SHARED: OnceLock<Nats> = OnceLock::new();
    SHARED.get_or_init(|| {
        let server = Nats::start(options()).unwrap();
        server.end_with_this_program().unwrap();
        server
    })
}

impl TestStream {
    /// A stream on a server that others use.
    pub(crate) async fn new() -> Self {
        let server = shared();
        let ca = server.ca_file().unwrap().to_owned();
        Self::on(("outbox", server.port()), ca, None).await
    }

    /// A stream on a server of its own.
    pub(crate) async fn alone() -> Self {
        Self::alone_with(options()).await
    }

    /// The same with other options, which keep the password and TLS.
    pub(crate) async fn alone_with(options: NatsOptions) -> Self {
        Self::alone_as("outbox", options).await
    }

    /// The same, seen by another user than the one who publishes.
    pub(crate) async fn alone_as(user: &str, options: NatsOptions) -> Self {
        let server = Nats::start(options).unwrap();
        let (port, ca) = (server.port(), server.ca_file().unwrap().to_owned());
        Self::on((user, port), ca, Some(server)).await
    }

    /// Options like those of all servers here.
    pub(crate) fn options() -> NatsOptions {
        options()
    }

    async fn on((user, port): (&str, u16), ca: PathBuf, own: Option<Nats>) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let login = ConnectOptions::with_user_and_password(user.into(), PASSWORD.into());
        let client = login
            .request_timeout(Some(Duration::from_secs(2)))
            .connect(format!("nats://127.0.0.1:{port}"))
            .await
            .unwrap();
        let mut stream = Self {
            own,
            proxy: Proxy::start(port).unwrap(),
            name: format!("T{}x{number}", process::id()),
            ca,
            client,
            stored: Vec::new(),
        };
        stream.create(json!({})).await;
        stream
    }

    /// Makes the stream, with these settings beside the usual ones.
    pub(crate) async fn create(&mut self, settings: Value) {
        let name = &self.name;
        let mut config =
            json!({"name": name, "subjects": [format!("{name}.>")], "storage": "file"});
        let object = config.as_object_mut().unwrap();
        object.extend(settings.as_object().unwrap().clone());
        let made = self.api(&format!("STREAM.CREATE.{name}"), &config).await;
        assert!(made.get("error").is_none(), "{made}");
        self.stored.clear();
    }

    /// Removes the stream.
    pub(crate) async fn remove(&mut self) {
        self.api(&format!("STREAM.DELETE.{}", self.name), &json!({}))
            .await;
        self.stored.clear();
    }

    /// What the server says about the stream.
    pub(crate) async fn info(&self) -> Value {
        self.api(&format!("STREAM.INFO.{}", self.name), &json!({}))
            .await
    }

    /// Everything in the stream, in its order.
    pub(crate) async fn stored(&mut self) -> Vec<Stored> {
        let last = self.info().await["state"]["last_seq"]
            .as_u64()
            .unwrap_or_default();
        for sequence in self.stored.len() + 1..=usize::try_from(last).unwrap() {
            let got = self
                .api(
                    &format!("STREAM.MSG.GET.{}", self.name),
                    &json!({"seq": sequence}),
                )
                .await;
            let message = &got["message"];
            let bytes = |part: &str| {
                BASE64_STANDARD
                    .decode(message[part].as_str().unwrap_or_default())
                    .unwrap()
            };
            self.stored.push(Stored {
                subject: message["subject"].as_str().unwrap().to_owned(),
                payload: bytes("data"),
                headers: headers(&String::from_utf8(bytes("hdrs")).unwrap()),
            });
        }
        self.stored.clone()
    }

    /// The payloads in the stream's order.
    pub(crate) async fn texts(&mut self) -> Vec<String> {
        self.stored().await.iter().map(Stored::text).collect()
    }

    /// A client beside the proxy.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Asks JetStream again and again until it answers: after a kill it comes back when it likes.
    pub(crate) async fn api(&self, request: &str, payload: &Value) -> Value {
        let subject = format!("$JS.API.{request}");
        for _ in 0..200 {
            let asked = self
                .client
                .request(subject.clone(), payload.to_string().into());
            if let Ok(answer) = asked.await {
                let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
                if answer["error"]["code"] != 503 {
                    return answer;
                }
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("JetStream does not answer {subject}");
    }

    /// The URL of the server through the proxy, with this scheme and password, ready for parameters.
    pub(crate) fn url(&self, scheme: &str, password: &str) -> String {
        let password = password
            .replace(':', "%3A")
            .replace('/', "%2F")
            .replace('@', "%40");
        format!(
            "{scheme}://outbox:{password}@127.0.0.1:{}?",
            self.proxy.port()
        )
    }

    /// A parameter for the file of the authority.
    pub(crate) fn ca(&self) -> String {
        format!("&ca={}", self.ca.display())
    }

    /// A publisher through the proxy, to the subject `NAME.{topic}.{key}` and with more parameters.
    pub(crate) fn publisher(&self, more: &str) -> NatsPublisher {
        let url = self.url("nats", PASSWORD);
        let name = &self.name;
        NatsPublisher::new(&format!("{url}subject={name}.{{topic}}.{{key}}{more}")).unwrap()
    }
}

fn headers(block: &str) -> Vec<(String, String)> {
    let pairs = block.split("\r\n").filter_map(|line| line.split_once(':'));
    pairs
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect()
}
