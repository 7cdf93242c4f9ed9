//! What a publisher is told: where the broker is, who we are there, and what messages are published to.

use std::{fmt, fs, path::PathBuf, time::Duration};

use outbox_publisher::{InvalidParameter, Template, TemplateField};

use crate::{InvalidUrl, url};

/// Where and how to publish. [`from_url`](Self::from_url) reads all of it from a URL.
#[derive(Clone, PartialEq, Eq)]
pub struct RabbitMqConfig {
    /// A host name or an address; of a name with several addresses each is tried.
    pub host: String,
    /// 5672 unless the URL says otherwise, or 5671 with TLS.
    pub port: u16,
    /// Speak TLS.
    pub tls: Option<Tls>,
    /// `guest` unless the URL says otherwise.
    pub user: String,
    /// `guest` unless the URL says otherwise. Never shown.
    pub password: String,
    /// The virtual host, `/` unless the URL says otherwise.
    pub vhost: String,
    /// What messages are published to.
    pub target: Target,
    /// How long connecting may take in all, 5 s by default. Keep it below the relay's publish timeout.
    pub connect_timeout: Duration,
    /// A connection on which nothing came for twice this long counts as lost. In whole seconds, 10 by default; the broker may ask for less.
    pub heartbeat: Duration,
}

/// What is trusted, besides the authorities that the system trusts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tls {
    /// A file of certificates in PEM: authorities that are trusted too.
    pub ca: Option<PathBuf>,
}

/// What messages are published to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Queues, through the default exchange.
    Queue {
        /// The name of the queue, made of the topic: `{topic}` by default.
        queue: Template,
        /// What to do about a queue that is not there.
        missing: MissingQueue,
    },
    /// An exchange, which has to be there.
    Exchange {
        /// The name of the exchange; it may be made of the topic.
        exchange: Template,
        /// The routing key, `{topic}` by default.
        routing_key: Template,
    },
}

/// What to do about a queue that is not there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MissingQueue {
    /// Its messages wait until somebody declares it.
    #[default]
    Wait,
    /// Declare it, durable and without arguments. A queue that is there is taken as it is.
    Declare,
}

impl RabbitMqConfig {
    /// How long connecting may take by default.
    pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
    /// The heartbeat by default.
    pub const HEARTBEAT: Duration = Duration::from_secs(10);

    /// Reads everything from a URL, such as `amqp://user:password@host/vhost?exchange=events&routing_key={topic}.{key}`.
    ///
    /// What stands before the `?` follows the AMQP URI, with one difference: a path of `/` alone means the virtual host `/`,
    /// as no path at all does. The parameters are `queue`, `declare`, `exchange`, `routing_key`, `ca`, `connect_timeout` and
    /// `heartbeat`, the last two in seconds.
    ///
    /// # Errors
    ///
    /// [`InvalidUrl`] for anything that is not understood, and for a file of certificates that cannot be read.
    pub fn from_url(text: &str) -> Result<Self, InvalidUrl> {
        let config = url::read(text)?;
        config.check()?;
        Ok(config)
    }

    /// Checks what the types do not.
    pub(crate) fn check(&self) -> Result<(), InvalidUrl> {
        let (name, template) = match &self.target {
            Target::Queue { queue, .. } => ("queue", queue),
            Target::Exchange { exchange, .. } => ("exchange", exchange),
        };
        if template.is_empty() {
            return Err(InvalidParameter::value(name, "", "write a name").into());
        }
        // One circuit covers all messages of a topic, so what can be missing must not depend on more than the topic.
        if template.uses(TemplateField::Key) || template.uses(TemplateField::Id) {
            let problem = "only {topic} can be in it";
            return Err(InvalidParameter::value(name, template.to_string(), problem).into());
        }
        if self.connect_timeout.is_zero() {
            let problem = "write at least 1 second";
            return Err(InvalidParameter::value("connect_timeout", "0", problem).into());
        }
        let heartbeat = self.heartbeat.as_secs();
        if heartbeat == 0 || u16::try_from(heartbeat).is_err() {
            let problem = "write 1 to 65535 seconds";
            let value = heartbeat.to_string();
            return Err(InvalidParameter::value("heartbeat", value, problem).into());
        }
        self.authorities().map(drop)
    }

    /// The certificates of the file of authorities, in PEM.
    pub(crate) fn authorities(&self) -> Result<Option<String>, InvalidUrl> {
        let Some(path) = self.tls.as_ref().and_then(|tls| tls.ca.as_ref()) else {
            return Ok(None);
        };
        let pem = fs::read_to_string(path).map_err(|source| InvalidUrl::Ca {
            path: path.clone(),
            source,
        })?;
        if !pem.contains("-----BEGIN CERTIFICATE-----") {
            return Err(InvalidUrl::NoCertificate { path: path.clone() });
        }
        Ok(Some(pem))
    }

    /// The broker's name for people: the URL without user, password and parameters.
    pub(crate) fn server(&self) -> String {
        let scheme = if self.tls.is_some() { "amqps" } else { "amqp" };
        let host = if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        };
        let vhost = Some(&*self.vhost).filter(|vhost| *vhost != "/");
        format!("{scheme}://{host}:{}/{}", self.port, vhost.unwrap_or(""))
    }
}

impl fmt::Debug for RabbitMqConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RabbitMqConfig")
            .field("server", &self.server())
            .field("user", &self.user)
            .field("tls", &self.tls)
            .field("target", &self.target)
            .field("connect_timeout", &self.connect_timeout)
            .field("heartbeat", &self.heartbeat)
            .finish_non_exhaustive()
    }
}
