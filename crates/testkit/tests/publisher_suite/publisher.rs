//! A publisher to the broker in memory. Without a flaw it is how a publisher should be.

use std::{
    borrow::Cow,
    fmt,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use outbox_message::{Delivery, Topic};
use outbox_publisher::{PublishError, PublishErrorKind, Published, Publisher, Run};
use outbox_testkit::Door;
use tokio::{sync::Notify, time::sleep};

use crate::{
    broker::{Answer, Broker, Link, Lost, Way},
    flaw::Flaw,
};

/// What the destination is called at the broker.
pub(crate) const NAME: &str = "queue-of-orders";
pub(crate) const PASSWORD: &str = "right-password";
pub(crate) const WRONG_PASSWORD: &str = "wrong-password";

/// How long the broker thinks.
const THINKING: Duration = Duration::from_millis(1);

pub(crate) struct FakePublisher {
    broker: Broker,
    door: Door,
    flaw: Flaw,
    link: Mutex<Option<Link>>,
    /// What flaws remember.
    connected: AtomicBool,
    given_up: AtomicBool,
    busy: AtomicBool,
    refused: AtomicU64,
    named: AtomicU64,
    freed: Notify,
}

impl fmt::Debug for FakePublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let password = if self.flaw == Flaw::DebugShowsPassword {
            PASSWORD
        } else {
            "..."
        };
        f.debug_struct("FakePublisher")
            .field("door", &self.door)
            .field("password", &password)
            .finish_non_exhaustive()
    }
}

impl FakePublisher {
    pub(crate) fn new(broker: Broker, door: Door, flaw: Flaw) -> Self {
        Self {
            broker,
            door,
            flaw,
            link: Mutex::default(),
            connected: AtomicBool::new(false),
            given_up: AtomicBool::new(false),
            busy: AtomicBool::new(false),
            refused: AtomicU64::new(0),
            named: AtomicU64::new(0),
            freed: Notify::new(),
        }
    }

    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == flaw
    }

    fn keep(&self, link: Option<Link>) {
        *self.link.lock().unwrap_or_else(PoisonError::into_inner) = link;
    }

    fn kept(&self) -> Option<Link> {
        *self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection, made anew if it is gone.
    async fn link(&self) -> Result<Link, PublishError> {
        if let Some(link) = self.kept() {
            if self.broker.keeps(link) {
                return Ok(link);
            }
            if self.has(Flaw::NeverReconnects) {
                return Err(self.outage("connection lost for ever"));
            }
            self.keep(None);
        }
        if self.given_up.load(Ordering::SeqCst) {
            return Err(self.outage("gave up at the first failure"));
        }
        if !self.has(Flaw::CanceledConnectHangs) {
            return self.connect().await;
        }
        let busy = Busy::wait(self).await;
        let connected = self.connect().await;
        busy.done();
        connected
    }

    async fn connect(&self) -> Result<Link, PublishError> {
        let Some(link) = self.broker.link() else {
            if self.has(Flaw::GivesUpAtFirst) && !self.connected.load(Ordering::SeqCst) {
                self.given_up.store(true, Ordering::SeqCst);
            }
            return Err(self.outage("connection refused"));
        };
        self.carry(link, Way::There).await?;
        sleep(THINKING).await;
        self.carry(link, Way::Back).await?;
        self.open_door()?;
        self.keep(Some(link));
        self.connected.store(true, Ordering::SeqCst);
        Ok(link)
    }

    fn open_door(&self) -> Result<(), PublishError> {
        match self.door {
            Door::WrongCredentials if self.has(Flaw::RefusedCredentialsCount) => Err(
                PublishError::new(PublishErrorKind::Rejected, "access refused"),
            ),
            Door::WrongCredentials if self.has(Flaw::ErrorShowsPassword) => {
                let text = format!("access refused with {WRONG_PASSWORD}");
                Err(self.outage(&text))
            }
            Door::WrongCredentials => Err(self.outage("access refused")),
            Door::UntrustedTls if self.has(Flaw::TrustsEverybody) => Ok(()),
            Door::UntrustedTls => Err(self.outage("unknown issuer")),
            Door::Tls if self.has(Flaw::NoTls) => Err(self.outage("TLS is not spoken here")),
            _ => Ok(()),
        }
    }

    fn outage(&self, text: &str) -> PublishError {
        let kind = if self.has(Flaw::OutageCounts) {
            PublishErrorKind::Rejected
        } else {
            PublishErrorKind::Unavailable
        };
        PublishError::new(kind, text)
    }

    fn missing(&self) -> PublishError {
        if self.has(Flaw::MissingForEver) {
            self.given_up.store(true, Ordering::SeqCst);
            self.keep(None);
        }
        if self.has(Flaw::MissingCounts) {
            return PublishError::new(PublishErrorKind::Rejected, format!("{NAME} is missing"));
        }
        let name = if self.has(Flaw::MissingNameless) {
            "it"
        } else {
            NAME
        };
        PublishError::new(
            PublishErrorKind::Unavailable,
            format!("{name} does not exist"),
        )
    }

    async fn carry(&self, link: Link, way: Way) -> Result<(), PublishError> {
        let carried = self.broker.carries(link, way).await;
        carried.map_err(|Lost| self.outage("connection lost"))
    }

    /// Gives one message to the broker, changed as the flaw wants it.
    async fn send(&self, link: Link, delivery: &Delivery) -> Result<Answer, PublishError> {
        let message = self.flaw.change(&delivery.message);
        sleep(THINKING).await;
        self.carry(link, Way::There).await?;
        match self.broker.take(link, &message) {
            Err(Lost) if self.has(Flaw::LossConfirms) => Ok(Answer::Taken),
            taken => taken.map_err(|Lost| self.outage("connection lost")),
        }
    }

    async fn answered(&self, link: Link) -> Result<(), PublishError> {
        if self.has(Flaw::ConfirmsOnSending) {
            return Ok(());
        }
        tokio::task::yield_now().await;
        match self.carry(link, Way::Back).await {
            Err(_) if self.has(Flaw::LossConfirms) => Ok(()),
            answered => answered,
        }
    }

    fn judge(&self, answer: Answer, delivery: &Delivery) -> Result<(), PublishError> {
        match answer {
            Answer::Taken => Ok(()),
            Answer::Missing => Err(self.missing()),
            Answer::Refused(_) if self.has(Flaw::RefusalConfirms) => Ok(()),
            Answer::Refused(_) if self.has(Flaw::RefusalIsUnknown) => Err(PublishError::new(
                PublishErrorKind::Unknown,
                "something went wrong",
            )),
            Answer::Refused(kind) => {
                self.refused.fetch_add(1, Ordering::SeqCst);
                let text = if self.has(Flaw::ErrorShowsPayload) {
                    String::from_utf8_lossy(&delivery.message.payload).into_owned()
                } else {
                    "the broker refuses it".to_owned()
                };
                Err(PublishError::new(kind, text))
            }
        }
    }

    /// One message after the other.
    async fn one_by_one(&self, run: Run<'_>) -> Published {
        for (confirmed, delivery) in run.messages.iter().enumerate() {
            let refused = self.refused.load(Ordering::SeqCst);
            let sent = async {
                let link = self.link().await?;
                let answer = self.send(link, delivery).await?;
                self.answered(link).await?;
                self.judge(answer, delivery)
            };
            let mut sent = sent.await;
            let others = refused != self.refused.load(Ordering::SeqCst);
            if sent.is_ok() && others && self.has(Flaw::RefusalJudgesNeighbors) {
                sent = Err(PublishError::new(
                    PublishErrorKind::Rejected,
                    "channel closed",
                ));
            }
            if sent.is_ok() && others && self.has(Flaw::RefusalIsAnOutage) {
                sent = Err(self.outage("channel closed"));
            }
            if let Err(failure) = sent {
                if self.has(Flaw::GoesOnAfterFailure) {
                    self.send_all(&run.messages[confirmed + 1..]).await.ok();
                }
                return Published::failed(confirmed, failure);
            }
        }
        Published::all(run)
    }

    /// All at once, and the answers after that.
    async fn ahead(&self, run: Run<'_>) -> Published {
        let sent = async {
            let answers = self.send_all(run.messages).await?;
            self.answered(self.link().await?).await?;
            Ok(answers)
        };
        let answers = match sent.await {
            Ok(answers) => answers,
            Err(failure) => return Published::failed(0, failure),
        };
        for (confirmed, (answer, delivery)) in answers.into_iter().zip(run.messages).enumerate() {
            if let Err(failure) = self.judge(answer, delivery) {
                return Published::failed(confirmed, failure);
            }
        }
        Published::all(run)
    }

    async fn send_all(&self, messages: &[Delivery]) -> Result<Vec<Answer>, PublishError> {
        let link = self.link().await?;
        let mut answers = Vec::new();
        for delivery in messages {
            answers.push(self.send(link, delivery).await?);
        }
        Ok(answers)
    }

    async fn backwards(&self, run: Run<'_>) -> Published {
        let mut messages = run.messages.to_vec();
        messages.reverse();
        self.one_by_one(Run {
            messages: &messages,
            ..run
        })
        .await
    }
}

#[async_trait]
impl Publisher for FakePublisher {
    fn destination<'a>(&'a self, _: &'a Topic) -> Cow<'a, str> {
        if self.has(Flaw::NameShowsPassword) {
            return format!("fake://user:{PASSWORD}@broker").into();
        }
        if self.has(Flaw::NameChanges) {
            let number = self.named.fetch_add(1, Ordering::SeqCst);
            return format!("fake://broker/{number}").into();
        }
        "fake://broker".into()
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        let alone = self.has(Flaw::OneRunAtATime) || self.has(Flaw::CanceledCallHangs);
        let busy = if alone {
            Some(Busy::wait(self).await)
        } else {
            None
        };
        let cut = self.has(Flaw::CanceledCallCuts).then(|| Cutting(self));
        let published = match self.flaw {
            Flaw::SendsAhead => self.ahead(run).await,
            Flaw::SendsBackwards => self.backwards(run).await,
            Flaw::ForgetsTheLast => {
                let messages = &run.messages[..run.messages.len() - 1];
                let sent = self.one_by_one(Run { messages, ..run }).await;
                match sent.failure {
                    None => Published::all(run),
                    Some(_) => sent,
                }
            }
            _ => self.one_by_one(run).await,
        };
        if let Some(busy) = busy {
            busy.done();
        }
        if let Some(cut) = cut {
            std::mem::forget(cut);
        }
        published
    }

    async fn reach(&self) -> Result<(), PublishError> {
        if self.has(Flaw::CheckSaysYes) {
            return Ok(());
        }
        let link = self.link().await?;
        self.carry(link, Way::There).await?;
        self.carry(link, Way::Back).await
    }

    async fn check(&self, _: &Topic) -> Result<(), PublishError> {
        if self.has(Flaw::CheckSaysYes) {
            return Ok(());
        }
        let link = self.link().await?;
        self.carry(link, Way::There).await?;
        let exists = self.broker.state().exists;
        self.carry(link, Way::Back).await?;
        if self.has(Flaw::CheckPublishes) {
            let message = outbox_message::Message::new("orders", "check").unwrap();
            self.broker.take(link, &message).ok();
        }
        if exists { Ok(()) } else { Err(self.missing()) }
    }
}

/// Keeps all others out.
struct Busy<'a> {
    publisher: &'a FakePublisher,
    done: bool,
}

impl<'a> Busy<'a> {
    async fn wait(publisher: &'a FakePublisher) -> Self {
        while publisher.busy.swap(true, Ordering::SeqCst) {
            let freed = publisher.freed.notified();
            if publisher.busy.load(Ordering::SeqCst) {
                freed.await;
            }
        }
        Self {
            publisher,
            done: false,
        }
    }

    fn done(mut self) {
        self.done = true;
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        // Two of the flaws forget this when they are dropped too early.
        if self.done || self.publisher.has(Flaw::OneRunAtATime) {
            self.publisher.busy.store(false, Ordering::SeqCst);
            self.publisher.freed.notify_one();
        }
    }
}

/// Cuts the connection of everybody when it is dropped.
struct Cutting<'a>(&'a FakePublisher);

impl Drop for Cutting<'_> {
    fn drop(&mut self) {
        self.0.broker.change(crate::broker::State::cut);
    }
}
