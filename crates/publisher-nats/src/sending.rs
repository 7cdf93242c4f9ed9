//! One run on its way: each message is sent when the one before it was confirmed.

use async_nats::{
    HeaderMap,
    header::{NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, NATS_EXPECTED_STREAM},
};
use outbox_message::Message;
use outbox_publisher::{PublishError, PublishErrorKind, Run};

use crate::{
    ack::{self, Ack, ApiError, NoAck},
    connection::{AskError, Asker},
    fence::{self, Mark},
    headers,
    target::Target,
};

/// How often a fenced message is sent while others reach its subject in between.
const FENCED_TRIES: usize = 3;

/// What one run needs.
pub(crate) struct Sending<'a> {
    target: &'a Target,
    asker: Asker<'a>,
    /// Under which lease it is sent, if it is fenced.
    mark: Option<Mark>,
    /// The number of the last message of the fenced subject, once it was seen.
    last: Option<u64>,
}

/// What a fenced message is sent under.
#[derive(Clone, Copy)]
struct Fence {
    mark: Mark,
    last: u64,
}

/// Why a message was not confirmed.
enum Failure {
    /// The stream says so.
    Refused(ApiError),
    Other(PublishError),
}

impl From<PublishError> for Failure {
    fn from(error: PublishError) -> Self {
        Self::Other(error)
    }
}

impl<'a> Sending<'a> {
    pub(crate) fn new(target: &'a Target, asker: Asker<'a>, run: Run<'_>) -> Self {
        // Messages without a key share a subject and are under way at the same time.
        let is_fenced =
            target.config.fence && run.messages.iter().all(|one| one.message.key.is_some());
        Self {
            target,
            asker,
            mark: is_fenced.then(|| Mark::of(run.token)),
            last: None,
        }
    }

    /// Publishes one message. Dropping this may leave it published.
    pub(crate) async fn publish(&mut self, message: &Message) -> Result<(), PublishError> {
        let subject = self.target.config.subject.subject(message);
        let subject = subject.ok_or_else(|| self.target.no_subject(&message.topic))?;
        let sent = match self.mark {
            Some(mark) => self.send_fenced(message, &subject, mark).await,
            None => self.send(message, &subject, None).await.map(drop),
        };
        sent.map_err(|failure| match failure {
            Failure::Refused(error) => self.target.refused(&subject, &error),
            Failure::Other(error) => error,
        })
    }

    /// Sends a message to a subject whose last one must be as it was seen, and not of a later lease.
    async fn send_fenced(
        &mut self,
        message: &Message,
        subject: &str,
        mark: Mark,
    ) -> Result<(), Failure> {
        let mut refused_after = None;
        for _ in 0..FENCED_TRIES {
            let last = match self.last {
                Some(last) => last,
                None => self.target.last(&mut self.asker, subject, mark).await?,
            };
            let fence = Some(Fence { mark, last });
            match self.send(message, subject, fence).await {
                Ok(ack) => {
                    // A duplicate was not stored: the subject's last message is what it was.
                    self.last = Some(if ack.duplicate { last } else { ack.sequence });
                    return Ok(());
                }
                // Refused twice after the same message, it is for a header of its own.
                Err(Failure::Refused(error))
                    if error.is_wrong_last_sequence() && refused_after != Some(last) =>
                {
                    refused_after = Some(last);
                    self.last = None;
                }
                Err(failure) => return Err(failure),
            }
        }
        let text =
            format!("others publish to the subject {subject} too; with fence=true nobody else may");
        Err(PublishError::new(PublishErrorKind::Interrupted, text).into())
    }

    async fn send(
        &mut self,
        message: &Message,
        subject: &str,
        fence: Option<Fence>,
    ) -> Result<Ack, Failure> {
        let headers = self.headers(message, fence)?;
        let payload = &message.payload;
        let mut answer = self
            .asker
            .ask(subject, Some(headers), payload.clone())
            .await;
        if matches!(answer, Err(AskError::Nobody)) && self.target.config.create_stream {
            self.target.make_stream(&mut self.asker, subject).await?;
            let headers = self.headers(message, fence)?;
            answer = self
                .asker
                .ask(subject, Some(headers), payload.clone())
                .await;
        }
        let answer = answer.map_err(|error| self.target.not_answered(subject, error))?;
        let ack = ack::read(&answer.payload).map_err(|no_ack| match no_ack {
            NoAck::Refused(error) => Failure::Refused(error),
            NoAck::Foreign => Failure::Other(self.target.foreign(subject)),
        })?;
        if ack.duplicate && !self.target.takes_duplicates {
            return Err(self.target.dropped(subject).into());
        }
        Ok(ack)
    }

    fn headers(&self, message: &Message, fence: Option<Fence>) -> Result<HeaderMap, PublishError> {
        let mut headers = headers::of(message)?;
        if let Some(stream) = &self.target.config.stream {
            headers.insert(NATS_EXPECTED_STREAM, &**stream);
        }
        if let Some(Fence { mark, last }) = fence {
            headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, last.to_string());
            headers.insert(fence::HEADER, mark.text());
        }
        Ok(headers)
    }
}
