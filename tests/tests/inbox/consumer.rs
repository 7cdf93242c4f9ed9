//! Processes that consume, which are this program started again by its tests, and the parts that they play until they are killed.

use std::{
    env,
    future::pending,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use outbox::{Relay, RelayConfig, Report, store::OutboxStore};
use outbox_testkit::{Call, FaultyStore};

use crate::{database::Database, shop, stream::Stream};

const PART: &str = "OUTBOX_INBOX_PART";
const BROKER: &str = "OUTBOX_INBOX_BROKER";
const PLACE: &str = "OUTBOX_INBOX_PLACE";

/// What a process does until it is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Saves every delivery, and acknowledges none.
    Taking,
    /// Saves every delivery, acknowledges it, and handles; nothing is settled.
    Handling,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Self::Taking => "taking",
            Self::Handling => "handling",
        }
    }

    /// The part of this process, if a test has started it.
    pub(crate) fn of_this_process() -> Option<Self> {
        let part = env::var(PART).ok()?;
        let mut parts = [Self::Taking, Self::Handling].into_iter();
        Some(
            parts
                .find(|it| it.name() == part)
                .expect("a part has its name"),
        )
    }

    pub(crate) async fn play<D: Database>(self) {
        let database = D::open(&env::var(PLACE).unwrap()).await;
        let mut stream = Stream::of(&env::var(BROKER).unwrap()).await;
        for delivery in stream.read_all().await {
            database.take(delivery.incoming).await;
            if self == Self::Handling {
                stream.acknowledge(&delivery.number).await;
            }
        }
        if self == Self::Taking {
            tell("taken");
            return pending().await;
        }
        let store = FaultyStore::new(database.incoming());
        store.hold(Call::Settle);
        let relay = relay(&database, store.clone());
        let handling = tokio::spawn(async move { relay.drain().await });
        store.begun(Call::Settle, 1).await;
        tell("handled");
        handling.await.unwrap().unwrap();
    }
}

/// Tells the parent, which waits for the line.
fn tell(line: &str) {
    println!("\n{line}");
}

fn relay<D: Database>(database: &D, incoming: impl OutboxStore) -> Relay {
    let config = RelayConfig {
        concurrency: D::CONCURRENCY,
        ..shop::config()
    };
    Relay::with_config(incoming, database.processor(), config).unwrap()
}

/// Handles what is there.
pub(crate) async fn handle<D: Database>(database: &D) -> Report {
    relay(database, database.incoming()).drain().await.unwrap()
}

/// A process that is killed at the latest when this is dropped.
pub(crate) struct Process(Child);

impl Process {
    /// Starts this program again: it runs the test of this name, which plays the part.
    pub(crate) fn start(test: &str, part: Part, broker: &str, place: &str) -> Self {
        let mut program = Command::new(env::current_exe().unwrap());
        program
            .args(["--exact", test, "--nocapture"])
            .env(PART, part.name())
            .env(BROKER, broker)
            .env(PLACE, place)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        Self(program.spawn().unwrap())
    }

    /// Kills it with SIGKILL when it tells this.
    pub(crate) fn killed_when(mut self, told: &str) {
        let output = BufReader::new(self.0.stdout.take().unwrap());
        let mut lines = output.lines().map(Result::unwrap);
        assert!(
            lines.any(|line| line == told),
            "it ended before it told {told}"
        );
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}
