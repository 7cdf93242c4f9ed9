//! What is published to: the server's address, the stream behind it, and what an operator is told when it fails.

use outbox_message::Topic;
use outbox_publisher::{PublishError, PublishErrorKind};

use crate::{
    NatsConfig,
    ack::ApiError,
    connection::{AskError, Asker},
    fence::{self, Mark},
    stream::{self, StreamError},
};

/// What messages go to.
pub(crate) struct Target {
    pub(crate) config: NatsConfig,
    /// The servers, without credentials.
    pub(crate) address: String,
    /// Whether "I have had that" is a confirmation.
    pub(crate) takes_duplicates: bool,
}

impl Target {
    pub(crate) fn new(config: NatsConfig) -> Self {
        Self {
            address: config.address(),
            config,
            takes_duplicates: true,
        }
    }

    /// The same for messages that a stream may have had before, and is to take again.
    pub(crate) fn without_duplicates(config: &NatsConfig) -> Self {
        let config = NatsConfig {
            fence: false,
            ..config.clone()
        };
        Self {
            takes_duplicates: false,
            ..Self::new(config)
        }
    }

    /// Whether messages of a topic would find their stream.
    pub(crate) async fn check(
        &self,
        asker: &mut Asker<'_>,
        topic: &Topic,
    ) -> Result<(), PublishError> {
        let subject = self.config.subject.example(topic);
        let subject = subject.ok_or_else(|| self.no_subject(topic))?;
        match self.look(asker, &subject).await {
            Ok(found) => found,
            // Whoever may publish need not be allowed to ask about streams.
            Err(StreamError::Ask(AskError::Forbidden)) => Ok(()),
            Err(error) => Err(self.stream_failed(error)),
        }
    }

    async fn look(
        &self,
        asker: &mut Asker<'_>,
        subject: &str,
    ) -> Result<Result<(), PublishError>, StreamError> {
        let mut names = stream::with_subject(asker, subject).await?.into_iter();
        let name = match (names.next(), &self.config.stream) {
            (Some(name), Some(expected)) if name != *expected => {
                return Ok(Err(unavailable(format!(
                    "the stream {name} takes the subject {subject}, not {expected}; correct stream= in the URL"
                ))));
            }
            (Some(name), _) => name,
            (None, Some(expected)) => {
                return Ok(match stream::find(asker, expected).await? {
                    Some(_) => Err(self.takes_not(subject)),
                    None if self.config.create_stream => Ok(()),
                    None => Err(self.nobody(subject)),
                });
            }
            (None, None) => return Ok(Err(self.nobody(subject))),
        };
        let Some(found) = stream::find(asker, &name).await? else {
            return Ok(Err(self.nobody(subject)));
        };
        Ok(if found.no_ack {
            Err(unavailable(format!(
                "the stream {name} confirms nothing; make it without no_ack"
            )))
        } else if self.config.fence && !found.keeps_messages() {
            Err(unavailable(format!(
                "the stream {name} drops messages that were consumed, so fence=true does not hold; its retention must be limits"
            )))
        } else {
            Ok(())
        })
    }

    /// Makes the stream if there is none. Then, or if another made it meanwhile, the subject is taken.
    pub(crate) async fn make_stream(
        &self,
        asker: &mut Asker<'_>,
        subject: &str,
    ) -> Result<(), PublishError> {
        let subjects = self.config.subject.stream_subject();
        let (Some(name), Some(subjects)) = (&self.config.stream, subjects) else {
            return Err(self.nobody(subject));
        };
        let found = stream::find(asker, name).await;
        match found.map_err(|error| self.stream_failed(error))? {
            Some(found) if found.takes(subject) => Ok(()),
            Some(_) => Err(self.takes_not(subject)),
            None => {
                let created = stream::create(asker, name, &subjects).await;
                created.map_err(|error| self.stream_failed(error))
            }
        }
    }

    /// The number to expect of a subject's last message, unless a later lease has published there.
    pub(crate) async fn last(
        &self,
        asker: &mut Asker<'_>,
        subject: &str,
        mark: Mark,
    ) -> Result<u64, PublishError> {
        let name = self.config.stream.as_deref().unwrap_or_default();
        let last = match stream::last(asker, name, subject).await {
            Err(StreamError::Api(error)) if error.is_not_found() && self.config.create_stream => {
                self.make_stream(asker, subject).await?;
                None
            }
            last => last.map_err(|error| self.stream_failed(error))?,
        };
        fence::expect(last.as_ref(), mark).map_err(|later| {
            unavailable(format!(
                "a later lease has published to the subject {subject} (its epoch is {}, ours {}); if the store was restored from a \
                 backup, publish with fence=false until its epochs have passed that",
                later.epoch, mark.epoch
            ))
        })
    }

    /// A message whose topic makes no subject.
    pub(crate) fn no_subject(&self, topic: &Topic) -> PublishError {
        PublishError::new(
            PublishErrorKind::Malformed,
            format!(
                "the topic {topic:?} makes no subject of {}: there are no spaces, empty tokens or wildcards in one, at most 3,900 bytes, and \
                 it is none of the server's own",
                self.config.subject
            ),
        )
    }

    /// What a stream says against a message.
    pub(crate) fn refused(&self, subject: &str, error: &ApiError) -> PublishError {
        let kind = error.kind(self.config.subject.is_of_many_in_a_topic());
        let text = format!(
            "the stream refuses what is published to the subject {subject}: {} (error {})",
            error.description, error.number
        );
        PublishError::new(kind, text)
    }

    /// A request that no stream answered.
    pub(crate) fn not_answered(&self, subject: &str, error: AskError) -> PublishError {
        match error {
            AskError::Over(why) => unavailable(format!(
                "the connection to {} was lost: {why}",
                self.address
            )),
            AskError::Forbidden => unavailable(format!(
                "{} does not let us publish to the subject {subject}; correct the permissions of the user in the URL",
                self.address
            )),
            AskError::Nobody => self.nobody(subject),
            AskError::TooLarge { limit } => PublishError::new(
                PublishErrorKind::TooLarge,
                format!(
                    "{} takes at most {limit} bytes, headers included (max_payload)",
                    self.address
                ),
            ),
            AskError::Client(error) => PublishError::new(
                PublishErrorKind::Unknown,
                format!("cannot publish to the subject {subject}"),
            )
            .with_source(error),
        }
    }

    /// A stream that has had a message of this id drops another.
    pub(crate) fn dropped(&self, subject: &str) -> PublishError {
        unavailable(format!(
            "the stream of the subject {subject} on {} has had a message of this id within its duplicate window and drops another; \
             try again when that has passed, which takes 2 minutes unless the stream says otherwise",
            self.address
        ))
    }

    /// An answer that is not a stream's.
    pub(crate) fn foreign(&self, subject: &str) -> PublishError {
        unavailable(format!(
            "what answers on the subject {subject} of {} is no stream; correct subject= in the URL",
            self.address
        ))
    }

    /// What JetStream says instead of doing it.
    pub(crate) fn stream_failed(&self, error: StreamError) -> PublishError {
        match error {
            StreamError::Ask(AskError::Nobody) => unavailable(format!(
                "JetStream does not answer on {}; enable it, for this account too",
                self.address
            )),
            StreamError::Ask(error) => self.not_answered("$JS.API.STREAM.>", error),
            StreamError::Api(error) => unavailable(format!(
                "JetStream on {} says about the stream {}: {} (error {})",
                self.address,
                self.config.stream.as_deref().unwrap_or_default(),
                error.description,
                error.number
            )),
            StreamError::Foreign => unavailable(format!(
                "what answers for JetStream on {} is something else",
                self.address
            )),
        }
    }

    /// No stream takes a subject.
    pub(crate) fn nobody(&self, subject: &str) -> PublishError {
        let stream = match &self.config.stream {
            Some(name) => format!("the stream {name} does not take"),
            None => "no stream takes".to_owned(),
        };
        unavailable(format!(
            "{stream} the subject {subject} on {}: it does not exist, or has no leader just now; create it, or add the subject to it",
            self.address
        ))
    }

    fn takes_not(&self, subject: &str) -> PublishError {
        unavailable(format!(
            "the stream {} on {} exists and does not take the subject {subject}; add it to its subjects, or correct subject= in the URL",
            self.config.stream.as_deref().unwrap_or_default(),
            self.address
        ))
    }
}

fn unavailable(text: String) -> PublishError {
    PublishError::new(PublishErrorKind::Unavailable, text)
}
