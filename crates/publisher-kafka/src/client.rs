//! One client of the library: a producer with its connections, and what it last complained about.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use outbox_message::Message;
use rdkafka::{
    ClientConfig, ClientContext,
    config::RDKafkaLogLevel,
    error::{KafkaError, RDKafkaErrorCode},
    message::DeliveryResult,
    metadata::Metadata,
    producer::{Producer, ProducerContext, ThreadedProducer},
};
use tokio::{
    runtime::Handle,
    sync::oneshot,
    task::{JoinError, spawn_blocking},
};
use tracing::debug;

use crate::record::{self, Opaque};

/// What became of a record: a broker confirmed it, or this is why not.
pub(crate) type Verdict = Result<(), RDKafkaErrorCode>;

/// A producer, and the thread that serves it.
pub(crate) struct Client {
    /// Always there, but while it is dropped.
    producer: Option<ThreadedProducer<Reports>>,
}

impl Client {
    /// Makes a client, which begins to connect. Making one reads files and starts threads, so it is done where blocking is allowed.
    pub(crate) async fn open(settings: ClientConfig) -> Result<Self, KafkaError> {
        let create = move || settings.create_with_context(Reports::default());
        let producer = joined(spawn_blocking(create).await)?;
        Ok(Self {
            producer: Some(producer),
        })
    }

    /// Hands a record over and returns when its fate is known: within the message timeout, which is counted from the handing over.
    ///
    /// Dropping this leaves the record to the library for the rest of that time. It is delivered or not, but never after a record of its
    /// partition that is handed over later: a partition's records wait in one line.
    pub(crate) async fn deliver(&self, message: &Message, topic: &str) -> Verdict {
        let (told, verdict) = oneshot::channel();
        let record = record::of(message, topic, Box::new(told));
        match self.producer().send(record) {
            Ok(()) => verdict.await.unwrap_or(Err(RDKafkaErrorCode::PurgeQueue)),
            Err((KafkaError::MessageProduction(code), _)) => Err(code),
            Err((_, _)) => Err(RDKafkaErrorCode::InvalidArgument),
        }
    }

    /// What the cluster has: this topic, or all topics.
    pub(crate) async fn metadata(
        self: &Arc<Self>,
        topic: Option<String>,
        timeout: Duration,
    ) -> Result<Metadata, KafkaError> {
        let client = Arc::clone(self);
        let fetch = move || {
            let asked = client.producer().client();
            let fetched = asked.fetch_metadata(topic.as_deref(), timeout);
            if fetched.is_ok() {
                client.reports().set_trouble(None);
            }
            fetched
        };
        joined(spawn_blocking(fetch).await)
    }

    /// Whether it can never deliver anything again, and why.
    pub(crate) fn fatal(&self) -> Option<String> {
        let (code, text) = self.producer().client().fatal_error()?;
        Some(format!("{code}: {text}"))
    }

    /// How many records were confirmed so far.
    pub(crate) fn confirmed(&self) -> u64 {
        self.reports().confirmed.load(Ordering::Relaxed)
    }

    /// What the library complained about since it last delivered something.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.reports().trouble()
    }

    fn reports(&self) -> &Reports {
        self.producer().client().context()
    }

    fn producer(&self) -> &ThreadedProducer<Reports> {
        let producer = self.producer.as_ref();
        producer.expect("only the drop takes it away")
    }
}

/// Gives back what blocking work made. It is never canceled once it runs, and it panics only if the library does.
fn joined<T>(worked: Result<Result<T, KafkaError>, JoinError>) -> Result<T, KafkaError> {
    worked.unwrap_or_else(|ended| Err(KafkaError::ClientCreation(ended.to_string())))
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Drop for Client {
    /// Ending a producer waits for its threads.
    fn drop(&mut self) {
        let producer = self.producer.take();
        if let Ok(runtime) = Handle::try_current() {
            // Whether it ran is of no matter: a runtime that ends drops what has not run, and that ends the producer too.
            drop(runtime.spawn_blocking(move || drop(producer)));
        }
    }
}

/// Where the library reports to, from a thread of its own.
#[derive(Default)]
struct Reports {
    confirmed: AtomicU64,
    is_troubled: AtomicBool,
    trouble: Mutex<Option<String>>,
}

impl Reports {
    fn trouble(&self) -> Option<String> {
        let trouble = self.trouble.lock();
        trouble.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_trouble(&self, text: Option<String>) {
        self.is_troubled.store(text.is_some(), Ordering::Relaxed);
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        *trouble = text;
    }
}

impl ClientContext for Reports {
    /// The library logs what it also reports, and much that is over when it is read.
    fn log(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        debug!(?level, facility, "{text}");
    }

    fn error(&self, error: KafkaError, reason: &str) {
        debug!(%error, "{reason}");
        // That all brokers are down says less than what brought down the last of them.
        if error.rdkafka_error_code() != Some(RDKafkaErrorCode::AllBrokersDown) {
            self.set_trouble(Some(readable(reason)));
        }
    }
}

/// What the library complains about without its counting, and with what to do about a refused connection, for which it may have no
/// words.
fn readable(reason: &str) -> String {
    let (reason, _) = reason.split_once(" (after ").unwrap_or((reason, ""));
    for refused in ["failed: (null)", "failed: Connection refused"] {
        if let Some(connecting) = reason.strip_suffix(refused) {
            return format!("{connecting}failed: {REFUSED}");
        }
    }
    reason.to_owned()
}

const REFUSED: &str = "nothing answers there; start the broker, or correct the URL";

impl ProducerContext for Reports {
    type DeliveryOpaque = Opaque;

    fn delivery(&self, delivered: &DeliveryResult<'_>, told: Opaque) {
        let verdict = match delivered {
            Ok(_) => Ok(()),
            Err((error, _)) => {
                let code = error.rdkafka_error_code();
                Err(code.unwrap_or(RDKafkaErrorCode::Unknown))
            }
        };
        if verdict.is_ok() {
            self.confirmed.fetch_add(1, Ordering::Relaxed);
            if self.is_troubled.load(Ordering::Relaxed) {
                self.set_trouble(None);
            }
        }
        // Nobody hears it if the call was dropped.
        let _ = told.send(verdict);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_library_complains_about_is_readable() {
        for words in ["(null)", "Connection refused"] {
            let refused = format!(
                "mq:9092/bootstrap: Connect to ipv4#10.0.0.1:9092 failed: {words} (after 0ms in state CONNECT, 1 identical error(s) \
                 suppressed)"
            );
            assert_eq!(
                readable(&refused),
                "mq:9092/bootstrap: Connect to ipv4#10.0.0.1:9092 failed: nothing answers there; start the broker, or correct the URL"
            );
        }
        assert_eq!(readable("Broker: out of memory"), "Broker: out of memory");
    }
}
