//! One message on its way: a request, its answer, and what that says about the message.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use outbox_message::{Message, Topic};
use outbox_publisher::{PublishError, PublishErrorKind};
use reqwest::{Body, Client, Method, Request, Response, StatusCode, Url};
use tokio::{
    sync::{OnceCell, Semaphore, SemaphorePermit},
    time::{Instant, timeout_at},
};

use crate::{
    HttpConfig, InvalidUrl, answer, client,
    evidence::{Doubt, Evidence},
    failure::{self, Stage},
    files::{Files, Loaded},
    hidden,
    request::{self, Parts},
    status::{self, Share, Verdict},
    target::Target,
};

/// As many requests are under way at once; a relay has fewer runs than that.
const UNDER_WAY: usize = 256;

/// What all runs share.
pub(crate) struct Sender {
    pub(crate) config: HttpConfig,
    pub(crate) target: Target,
    client: OnceCell<Client>,
    files: Files,
    evidence: Evidence,
    turns: Semaphore,
}

impl Sender {
    pub(crate) fn new(config: HttpConfig) -> Result<Self, InvalidUrl> {
        Ok(Self {
            target: config.check()?,
            client: OnceCell::new(),
            files: Files::new(&config),
            evidence: Evidence::default(),
            turns: Semaphore::new(UNDER_WAY),
            config,
        })
    }

    /// Sends a message and waits for its confirmation: for as long as a request may take, or until its run must end. Dropping this
    /// may leave it sent.
    pub(crate) async fn publish(
        &self,
        message: &Message,
        destination: &str,
        run_ends: Option<Instant>,
    ) -> Result<(), PublishError> {
        if run_ends.is_some_and(|at| at < Instant::now() + self.config.timeout / 4) {
            return Err(out_of_time());
        }
        let until = run_ends.unwrap_or_else(|| Instant::now() + self.config.timeout);
        let (loaded, client, _turn) = match timeout_at(until, self.prepare()).await {
            Ok(prepared) => prepared?,
            Err(_) if run_ends.is_some() => return Err(out_of_time()),
            Err(_) => return Err(self.unprepared(destination)),
        };
        let url = self.target.url(message)?;
        let parts = request::of(&self.config.mode, &loaded, message, now())?;
        let since = self.evidence.confirmations(destination);
        let request = || post(&url, &parts);
        let answer = match timeout_at(until, twice(client, request)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => {
                let stage = failure::stage(&error);
                let failure = failure::told(destination, stage, error);
                return Err(match stage {
                    Stage::Lost | Stage::Garbled => {
                        self.weighed(message, destination, Doubt::Failed, failure)
                    }
                    Stage::Connecting | Stage::Making => failure,
                });
            }
            Err(_) if run_ends.is_some() => return Err(out_of_time()),
            Err(_) => {
                let doubt = Doubt::Silent { since };
                let silent = self.silent(destination);
                return Err(self.weighed(message, destination, doubt, silent));
            }
        };
        self.judge(answer, message, destination, &url, &loaded)
            .await
    }

    /// Asks the receiver what it takes at the place of a topic, without a message.
    pub(crate) async fn check(&self, topic: &Topic) -> Result<(), PublishError> {
        let Some(url) = self.target.url_of_topic(topic) else {
            let text = format!("the topic {topic} makes no URL");
            return Err(PublishError::new(PublishErrorKind::Malformed, text));
        };
        let is_whole = self.target.topics_have_paths();
        self.ask(url, &self.target.shown(topic), is_whole).await
    }

    /// The same at the place that all topics have in common.
    pub(crate) async fn reach(&self) -> Result<(), PublishError> {
        let (url, is_whole) = self.target.url_of_server();
        let shown = self.target.shown_in_general();
        self.ask(url, &shown, is_whole).await
    }

    async fn ask(&self, url: Url, shown: &str, of_path: bool) -> Result<(), PublishError> {
        let until = Instant::now() + self.config.timeout;
        let prepared = timeout_at(until, self.prepare()).await;
        let (loaded, client, _turn) = prepared.map_err(|_| self.unprepared(shown))??;
        let request = || {
            let mut request = Request::new(Method::OPTIONS, url.clone());
            request.headers_mut().clone_from(&loaded.headers);
            request
        };
        let answer = match timeout_at(until, twice(client, request)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(failure::told(shown, failure::stage(&error), error)),
            Err(_) => return Err(self.silent(shown)),
        };
        let status = answer.status();
        answer::body(answer).await;
        if !status::is_no(status.as_u16(), of_path) {
            return Ok(());
        }
        self.doubt_credentials(status);
        let text = said(shown, status, "");
        Err(PublishError::new(PublishErrorKind::Unavailable, text))
    }

    /// What a request needs before it is made: the files, which may be on a disk that hangs, the client, and a turn.
    async fn prepare(&self) -> Result<(Arc<Loaded>, &Client, SemaphorePermit<'_>), PublishError> {
        let loaded = self.files.get().await?;
        let make = || client::build(&self.config);
        let client = self.client.get_or_try_init(make).await?;
        let turn = self.turns.acquire().await.expect("nobody closes it");
        Ok((loaded, client, turn))
    }

    async fn judge(
        &self,
        answer: Response,
        message: &Message,
        destination: &str,
        url: &Url,
        loaded: &Loaded,
    ) -> Result<(), PublishError> {
        let status = answer.status();
        let retry_after = answer::retry_after(answer.headers(), SystemTime::now());
        let share = Share {
            url: self.target.depends_on_message(),
            headers: !message.headers.is_empty(),
        };
        let permanent = &self.config.permanent;
        let verdict = status::judge(status.as_u16(), retry_after, permanent, share);
        if verdict == Verdict::Accepted {
            self.evidence.confirm(destination, &message.id);
        }
        let beginning = answer::body(answer).await;
        let kind = match verdict {
            Verdict::Accepted => return Ok(()),
            Verdict::Failed(kind) => kind,
            Verdict::Doubtful => PublishErrorKind::Unavailable,
        };
        self.doubt_credentials(status);
        let shown = if self.config.excerpt {
            let mut secrets = hidden::of_url(url, self.target.hides_path());
            secrets.extend_from_slice(&loaded.hidden);
            answer::excerpt(&beginning, secrets)
        } else {
            String::new()
        };
        let failure = PublishError::new(kind, said(destination, status, &shown));
        let failure = match retry_after {
            Some(delay) => failure.with_retry_after(delay),
            None => failure,
        };
        Err(match verdict {
            Verdict::Doubtful => self.weighed(message, destination, Doubt::Failed, failure),
            _ => failure,
        })
    }

    /// The failure as one of the message, if others show that it is.
    fn weighed(
        &self,
        message: &Message,
        destination: &str,
        doubt: Doubt,
        failure: PublishError,
    ) -> PublishError {
        if !self.evidence.blames(destination, &message.id, doubt) {
            return failure;
        }
        PublishError {
            kind: PublishErrorKind::Unknown,
            text: format!("{}, while it took other messages", failure.text),
            ..failure
        }
    }

    fn silent(&self, shown: &str) -> PublishError {
        let text = format!("{shown} did not answer within {:?}", self.config.timeout);
        PublishError::new(PublishErrorKind::Unavailable, text)
    }

    fn unprepared(&self, shown: &str) -> PublishError {
        let text = format!(
            "no request to {shown} began within {:?}: its files were not read, or too many others are under way",
            self.config.timeout
        );
        PublishError::new(PublishErrorKind::Unavailable, text)
    }

    /// A file with credentials may have been renewed.
    fn doubt_credentials(&self, status: StatusCode) {
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            self.files.forget();
        }
    }
}

fn post(url: &Url, parts: &Parts) -> Request {
    let mut request = Request::new(Method::POST, url.clone());
    *request.headers_mut() = parts.headers.clone();
    *request.body_mut() = Some(Body::from(parts.body.clone()));
    request
}

/// Sends a request, and once more if its connection was lost: a receiver may have closed one that was idle at that very moment.
/// What comes twice has the same id, as after any lost answer.
async fn twice(client: &Client, request: impl Fn() -> Request) -> Result<Response, reqwest::Error> {
    match client.execute(request()).await {
        Err(error) if failure::stage(&error) == Stage::Lost => client.execute(request()).await,
        answered => answered,
    }
}

/// A run ends before the relay drops the call, so that what was confirmed of it is told.
fn out_of_time() -> PublishError {
    let text = "the run took as long as one request may take; the rest of it comes later";
    PublishError::new(PublishErrorKind::Interrupted, text)
}

/// What a receiver answered, for people.
fn said(shown: &str, status: StatusCode, excerpt: &str) -> String {
    let mut text = format!("{shown} answered {status}");
    let advice = status::advice(status.as_u16());
    if !advice.is_empty() {
        text = format!("{text}: {advice}");
    }
    if !excerpt.is_empty() {
        text = format!("{text}: {excerpt}");
    }
    text
}

/// The time of a try, in Unix seconds.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}
