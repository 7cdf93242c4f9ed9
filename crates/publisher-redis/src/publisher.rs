//! The publisher itself: a run becomes commands, each sent after the one before it was confirmed.

use std::{borrow::Cow, fmt, sync::Arc};

use async_trait::async_trait;
use outbox_message::{Delivery, Topic};
use outbox_publisher::{PublishError, PublishErrorKind, Published, Publisher, Run, TemplateField};
use redis::{Cmd, Pipeline, RedisError, Value};

use crate::{
    InvalidUrl, Layout, RedisConfig,
    call::{self, Answer, By},
    dial,
    entry::Entry,
    failure::{self, Place},
    limits::Limits,
    link::{Link, Live},
};

/// The most messages of one command. A script takes no more than some thousands, and the server does nothing else meanwhile.
const COMMAND_MESSAGES: usize = 1000;

/// How long the server waits for its replicas, in milliseconds. Everything else on the connection waits as well.
const WAIT_MILLIS: u32 = 1000;

/// Publishes to lists or streams of a Redis server. Must be used inside a tokio runtime.
///
/// Making one connects to nothing; the first run does. All runs share one connection and are under way on it at the same
/// time. It is made anew when it was lost, and when somebody gave up waiting for an answer.
///
/// A run is one command as long as it has at most 1,000 messages and 16 MiB. The command is a whole on lists; on streams it
/// stops at the first entry that is refused, and two messages are two commands, the second after the first was confirmed.
#[derive(Clone)]
pub struct RedisPublisher {
    pub(crate) config: Arc<RedisConfig>,
    server: Arc<str>,
    /// The destination of every topic, if it is the same.
    only: Option<Arc<str>>,
    link: Arc<Link>,
}

impl RedisPublisher {
    /// A publisher to where `url` says, in the layout that it says: [`RedisConfig::from_url`].
    ///
    /// # Errors
    ///
    /// [`InvalidUrl`] if the URL is not understood, or a file of certificates that it names cannot be used.
    pub fn new(url: &str) -> Result<Self, InvalidUrl> {
        Self::with_config(RedisConfig::from_url(url)?)
    }

    /// A publisher to the server of `config`.
    ///
    /// # Errors
    ///
    /// [`InvalidUrl`] if it says nothing that a publisher could do, or a file of certificates cannot be used.
    pub fn with_config(config: RedisConfig) -> Result<Self, InvalidUrl> {
        config.check()?;
        if let Some(tls) = &config.tls {
            dial::client(tls).map_err(|error| InvalidUrl::Tls(error.to_string()))?;
        }
        let server = dial::title(&config);
        let only = config.layout.only_title();
        let config = Arc::new(config);
        Ok(Self {
            only: only.map(|key| format!("{server} {key}").into()),
            server: server.into(),
            link: Arc::new(Link::new(Arc::clone(&config))),
            config,
        })
    }

    pub(crate) fn place<'a>(&'a self, key: &'a str) -> Place<'a> {
        Place {
            server: &self.server,
            key,
            layout: &self.config.layout,
        }
    }

    /// Asks the server for its role, and for what it has at a key.
    pub(crate) async fn ask(&self, shown: &str, key: Option<&str>) -> Result<(), PublishError> {
        let live = self.live().await?;
        let mut commands = Pipeline::new();
        commands.cmd("INFO").arg("replication");
        match key {
            Some(key) => commands.cmd("TYPE").arg(key),
            None => commands.cmd("PING"),
        };
        let answers = live.ask_all(&commands).await;
        let answers = answers.map_err(|error| self.lost(error))?;
        let layout = &self.config.layout;
        let mut refusals = answers
            .into_iter()
            .filter_map(|answer| call::objection(&answer, layout));
        match refusals.next() {
            Some(refusal) => Err(self.place(shown).refused(&refusal)),
            None => Ok(()),
        }
    }

    pub(crate) async fn live(&self) -> Result<Arc<Live>, PublishError> {
        let live = self.link.live().await;
        live.map_err(|error| failure::unconnected(&self.server, &error))
    }

    pub(crate) fn lost(&self, error: RedisError) -> PublishError {
        failure::lost(&self.server, error)
    }

    /// Sends the first of these messages in one command, as many as `most` and the limits allow, and says how many they were.
    async fn push(&self, key: &str, messages: &[Delivery], most: usize) -> Result<usize, Stop> {
        let live = self.live().await?;
        let entries = self.entries(messages, most, live.limits)?;
        let mut answer = self.send(&live, key, &entries, By::Hash).await?;
        if matches!(answer, Answer::NoScript) {
            answer = self.send(&live, key, &entries, By::Source).await?;
        }
        let (done, refusal) = match answer {
            Answer::All => return Ok(entries.len()),
            Answer::Refused(done, refusal) => (done, refusal),
            Answer::NoScript => return Err(self.lost(call::unexpected()).into()),
        };
        if failure::wants_another_connection(&refusal) {
            live.give_up();
        }
        if !failure::is_too_long(&refusal) {
            return Err(Stop::At(done, self.place(key).refused(&refusal)));
        }
        match &*entries {
            [only] => Err(Stop::At(0, failure::too_long(&self.server, only.longest()))),
            _ => Err(Stop::TooLongTogether),
        }
    }

    /// The first of these messages as entries, up to one that is none. If that is the first, this is an error.
    fn entries<'m>(
        &self,
        messages: &'m [Delivery],
        most: usize,
        limits: Limits,
    ) -> Result<Vec<Entry<'m>>, PublishError> {
        let mut entries: Vec<Entry<'m>> = Vec::with_capacity(messages.len().min(most));
        let mut room = limits.room();
        for Delivery { message, .. } in &messages[..messages.len().min(most)] {
            match Entry::new(message, &self.config.layout, limits) {
                Ok(entry) if entries.is_empty() || entry.bytes() <= room => {
                    room = room.saturating_sub(entry.bytes());
                    entries.push(entry);
                }
                Err(error) if entries.is_empty() => return Err(error),
                _ => break,
            }
        }
        Ok(entries)
    }

    async fn send(
        &self,
        live: &Live,
        key: &str,
        entries: &[Entry<'_>],
        by: By,
    ) -> Result<Answer, PublishError> {
        let command = call::command(&self.config.layout, key, entries, by);
        let answer = match self.config.wait_replicas {
            0 => live.ask(&command).await,
            replicas => self.send_and_wait(live, command, replicas).await?,
        };
        answer
            .and_then(|answer| call::read(answer, entries.len()))
            .map_err(|error| self.lost(error))
    }

    /// The same, and waits until so many replicas have what was written on this connection.
    async fn send_and_wait(
        &self,
        live: &Live,
        command: Cmd,
        replicas: u32,
    ) -> Result<Result<Value, RedisError>, PublishError> {
        let mut commands = Pipeline::new();
        commands.add_command(command);
        commands.cmd("WAIT").arg(replicas).arg(WAIT_MILLIS);
        let mut answers = match live.ask_all(&commands).await {
            Ok(answers) => answers.into_iter(),
            Err(error) => return Ok(Err(error)),
        };
        match (answers.next(), answers.next()) {
            (Some(answer @ Value::ServerError(_)), _) => Ok(Ok(answer)),
            (Some(answer), Some(Value::Int(have))) if have >= i64::from(replicas) => Ok(Ok(answer)),
            (_, Some(Value::Int(have))) => Err(failure::unreplicated(&self.server, replicas, have)),
            (_, Some(Value::ServerError(error))) => {
                live.give_up();
                Err(self.place("").refused(&error.into()))
            }
            _ => Ok(Err(call::unexpected())),
        }
    }
}

/// Why not all messages that were to be sent were sent.
enum Stop {
    /// So many were confirmed, and this is why the next one was not.
    At(usize, PublishError),
    /// The server read none of them, since one of several is too long for it.
    TooLongTogether,
}

impl From<PublishError> for Stop {
    fn from(error: PublishError) -> Self {
        Self::At(0, error)
    }
}

#[async_trait]
impl Publisher for RedisPublisher {
    /// The server and the key of the list or stream: that one key holds something else must not stop the others.
    fn destination<'a>(&'a self, topic: &'a Topic) -> Cow<'a, str> {
        match &self.only {
            Some(only) => Cow::Borrowed(only),
            None => Cow::Owned(format!(
                "{} {}",
                self.server,
                self.config.layout.title(topic)
            )),
        }
    }

    fn has_one_destination(&self) -> bool {
        self.only.is_some()
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        let Some(key) = self.config.layout.key(&run.messages[0].message) else {
            let parameter = self.config.layout.parameter();
            let text = format!("{parameter}= in the URL gives no name for a message without a key");
            let malformed = PublishError::new(PublishErrorKind::Malformed, text);
            return Published::failed(0, malformed);
        };
        let mut confirmed = 0;
        let mut most = match (&self.config.layout, run.messages) {
            // A script costs the server more than the second command does, and runs are short where keys are many.
            (Layout::Stream { .. }, [_, _]) => 1,
            _ => COMMAND_MESSAGES,
        };
        while confirmed < run.messages.len() {
            match self.push(&key, &run.messages[confirmed..], most).await {
                Ok(count) => confirmed += count,
                // One by one they say which of them it is.
                Err(Stop::TooLongTogether) => most = 1,
                Err(Stop::At(count, error)) => return Published::failed(confirmed + count, error),
            }
        }
        Published::all(run)
    }

    /// Whether the server lets us in and is no replica.
    async fn reach(&self) -> Result<(), PublishError> {
        self.ask("", None).await
    }

    /// Whether the server lets us in, is no replica, and has a list or stream at the key, or nothing.
    async fn check(&self, topic: &Topic) -> Result<(), PublishError> {
        let key = self.config.layout.title(topic);
        let named_in_full = !self.config.layout.template().uses(TemplateField::Key);
        self.ask(&key, named_in_full.then_some(&*key)).await
    }
}

/// Without the credentials.
impl fmt::Debug for RedisPublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisPublisher")
            .field("server", &self.server)
            .field("layout", &self.config.layout)
            .finish_non_exhaustive()
    }
}
