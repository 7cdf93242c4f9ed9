//! What a publisher is told: the server, how to be let in, and in which layout messages stand there. Leaves out how a URL
//! says it.

use std::{fmt, num::NonZeroU64, path::PathBuf, time::Duration};

use outbox_message::{Message, Topic};
use outbox_publisher::{InvalidParameter, Template, TemplateField};

use crate::{InvalidUrl, url};

/// The server, the credentials and the layout. [`from_url`](Self::from_url) reads all of it from a URL.
///
/// ```
/// use outbox_publisher_redis::{Layout, RedisConfig};
///
/// let config = RedisConfig::from_url("redis://cache:6379/2?layout=laravel&queue={topic}")?;
/// assert_eq!((config.port, config.database), (6379, 2));
/// assert!(matches!(config.layout, Layout::Laravel { .. }));
/// # Ok::<(), outbox_publisher_redis::InvalidUrl>(())
/// ```
#[derive(Clone)]
pub struct RedisConfig {
    /// A name or an address; an address of IPv6 without brackets.
    pub host: String,
    /// 6379 by default.
    pub port: u16,
    /// The number of the database, 0 by default. A cluster has no other.
    pub database: u32,
    /// Who logs in, if it is not the default user.
    pub username: Option<String>,
    /// Without it nobody logs in.
    pub password: Option<String>,
    /// Without it nothing is encrypted.
    pub tls: Option<Tls>,
    /// Where messages go and what they look like there. [`Layout::list`] by default.
    pub layout: Layout,
    /// How many replicas must have a message before it counts as confirmed; 0, the default, asks none.
    pub wait_replicas: u32,
    /// The most bytes that an element of a list or a field of an entry may have, if that is less than the server takes: the
    /// server itself says what it takes if it lets this user ask.
    pub max_bytes: Option<usize>,
    /// How long connecting and logging in may take, all in all; 5 s by default. It should be less than the relay's publish timeout.
    pub connect_timeout: Duration,
}

/// What TLS goes by. The server's name is always verified.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tls {
    /// A PEM file of authorities that are trusted instead of those of the operating system.
    pub ca: Option<PathBuf>,
    /// How the server knows this client, if it asks for a certificate.
    pub identity: Option<Identity>,
}

/// A certificate of this client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// A PEM file of the certificate, and of those between it and an authority that the server trusts.
    pub certificate: PathBuf,
    /// A PEM file of its key.
    pub key: PathBuf,
}

/// Where messages go and what they look like there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// A list for each queue, as BabelQueue's packages read it: an element is the payload, or a frame around it.
    List {
        /// The key of the list.
        queue: Template,
        /// Which messages are framed.
        frame: Frame,
    },
    /// The lists of a Laravel queue: an element is the payload.
    Laravel {
        /// The name of the queue as Laravel knows it; the key of the list is the prefix, `queues:` and this.
        queue: Template,
        /// What Laravel's connection writes before every key: its setting `database.redis.options.prefix`.
        prefix: String,
        /// Which payloads are taken.
        jobs: Jobs,
    },
    /// A stream for each topic: an entry has fields for all parts of a message.
    Stream {
        /// The key of the stream.
        stream: Template,
        /// About how many entries it keeps: older ones are removed, whether they were read or not. Without it all are kept.
        max_len: Option<NonZeroU64>,
    },
}

/// Which messages of a list are framed: an element is then a JSON object with headers beside the payload as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Frame {
    /// Those that have headers, as BabelQueue's packages do it.
    #[default]
    Headers,
    /// All, so that every message carries its id.
    Always,
    /// None: headers, id and content type are left out.
    Never,
}

/// Which payloads a Laravel queue takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Jobs {
    /// Those that Laravel's workers can take: JSON objects with a number as `attempts`, as envelopes are. Anything else would
    /// be lost when a worker takes it, and is malformed.
    #[default]
    Checked,
    /// All, for consumers that are no workers of Laravel.
    Unchecked,
}

impl RedisConfig {
    /// The default port.
    pub const PORT: u16 = 6379;

    /// A server at its default port, without credentials and TLS, with a list for each topic.
    pub fn new(host: impl Into<String>) -> Self {
        Self {
            host: host.into(),
            port: Self::PORT,
            database: 0,
            username: None,
            password: None,
            tls: None,
            layout: Layout::list(),
            wait_replicas: 0,
            max_bytes: None,
            connect_timeout: Duration::from_secs(5),
        }
    }

    /// Reads a URL: `redis://user:password@host:port/database?parameter=value`, or `rediss://` with TLS. The page on Redis
    /// lists the parameters.
    ///
    /// # Errors
    ///
    /// [`InvalidUrl`], which names what is wrong. It never holds the URL.
    pub fn from_url(url: &str) -> Result<Self, InvalidUrl> {
        let config = url::read(url)?;
        config.check()?;
        Ok(config)
    }

    /// Checks what the types do not.
    pub(crate) fn check(&self) -> Result<(), InvalidParameter> {
        let (name, template) = (self.layout.parameter(), self.layout.template());
        if template.is_empty() {
            return Err(InvalidParameter::value(name, "", "write a name"));
        }
        // A run of several messages is one command for one list or stream.
        if template.uses(TemplateField::Id) {
            let problem = "only {topic} and {key} can be in it";
            return Err(InvalidParameter::value(name, template.to_string(), problem));
        }
        if self.connect_timeout.is_zero() {
            let problem = "write at least 1 second";
            return Err(InvalidParameter::value("connect_timeout", "0", problem));
        }
        Ok(())
    }
}

impl Layout {
    /// About how many entries a stream keeps unless it is told otherwise.
    pub const MAX_LEN: u64 = 1_000_000;

    /// A list for each topic, named like it; messages with headers are framed.
    pub fn list() -> Self {
        Self::List {
            queue: Template::topic(),
            frame: Frame::Headers,
        }
    }

    /// A Laravel queue for each topic, named like it, without a prefix.
    pub fn laravel() -> Self {
        Self::Laravel {
            queue: Template::topic(),
            prefix: String::new(),
            jobs: Jobs::Checked,
        }
    }

    /// A stream for each topic, named like it, of about [`Layout::MAX_LEN`] entries.
    pub fn stream() -> Self {
        Self::Stream {
            stream: Template::topic(),
            max_len: NonZeroU64::new(Self::MAX_LEN),
        }
    }

    /// What names the list or stream.
    pub(crate) fn template(&self) -> &Template {
        match self {
            Self::List { queue, .. } | Self::Laravel { queue, .. } => queue,
            Self::Stream { stream, .. } => stream,
        }
    }

    /// The parameter that names the list or stream.
    pub(crate) fn parameter(&self) -> &'static str {
        match self {
            Self::List { .. } | Self::Laravel { .. } => "queue",
            Self::Stream { .. } => "stream",
        }
    }

    /// The key on the server for `message`, if it has a name there.
    pub(crate) fn key(&self, message: &Message) -> Option<String> {
        let name = self.template().render(message);
        (!name.is_empty()).then(|| self.key_of(name))
    }

    /// The key on the server for messages of `topic`, with `{key}` in the place of their keys.
    pub(crate) fn title(&self, topic: &Topic) -> String {
        self.key_of(self.template().of_topic(topic))
    }

    /// The same, if it is one for all topics.
    pub(crate) fn only_title(&self) -> Option<String> {
        let template = self.template();
        let is_one = !template.uses(TemplateField::Topic);
        is_one.then(|| self.key_of(template.fill(TemplateField::placeholder)))
    }

    fn key_of(&self, name: String) -> String {
        match self {
            Self::Laravel { prefix, .. } => format!("{prefix}queues:{name}"),
            Self::List { .. } | Self::Stream { .. } => name,
        }
    }

    /// What the command `TYPE` says of such a key.
    pub(crate) fn redis_type(&self) -> &'static str {
        match self {
            Self::List { .. } | Self::Laravel { .. } => "list",
            Self::Stream { .. } => "stream",
        }
    }
}

/// Without the password.
impl fmt::Debug for RedisConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisConfig")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("database", &self.database)
            .field("username", &self.username)
            .field("password", &self.password.as_ref().map(|_| "***"))
            .field("tls", &self.tls)
            .field("layout", &self.layout)
            .field("wait_replicas", &self.wait_replicas)
            .field("max_bytes", &self.max_bytes)
            .field("connect_timeout", &self.connect_timeout)
            .finish()
    }
}
