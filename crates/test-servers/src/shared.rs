//! One server for many tests: the one that an environment variable names, as `cargo xtask test` sets it, or else a private
//! one of this program.

use std::env;
use std::mem::forget;
use std::process::{Command, Stdio};
use std::sync::PoisonError;

use crate::broker::Broker;
use crate::{Error, Result, Server};

/// A server that other tests use too. Whoever uses it takes names of his own: queues, subjects, keys. A test that stops a
/// server, or sets off its alarm, starts its own.
#[derive(Clone, Debug)]
pub struct Shared {
    url: String,
}

impl Shared {
    /// The URL of the server, with the user and the password if it asks for them.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl<B: Broker> Server<B> {
    /// Finds the server of `OUTBOX_TEST_RABBITMQ`, `OUTBOX_TEST_NATS`, `OUTBOX_TEST_REDIS` or `OUTBOX_TEST_KAFKA`. If the
    /// variable is not set, the first call of a program starts a server, and the later ones return it; it ends with the program,
    /// however that ends.
    ///
    /// # Errors
    ///
    /// None is named, and none starts.
    pub fn shared() -> Result<Shared> {
        if let Some(url) = env::var(B::NEEDS.variable)
            .ok()
            .filter(|url| !url.is_empty())
        {
            return Ok(Shared { url });
        }
        let mut own = B::shared().lock().unwrap_or_else(PoisonError::into_inner);
        if own.is_none() {
            let server = Self::start(B::default())?;
            server.end_with_this_program()?;
            *own = Some(server);
        }
        let url = own.as_ref().map(Self::url).unwrap_or_default();
        Ok(Shared { url })
    }

    /// Ends the server when this program ends, however that ends: for one in a `static`, which nothing drops. Started
    /// again, it is another process, and needs another call.
    ///
    /// # Errors
    ///
    /// There is no `sh`.
    pub fn end_with_this_program(&self) -> Result {
        end_with_this_program(&self.pids())
    }
}

/// Nothing is dropped when a program ends, so another one waits for that: its input ends with whoever could write to it.
fn end_with_this_program(pids: &[u32]) -> Result {
    let mut wait = Command::new("sh");
    wait.args(["-c", r#"cat && kill -s KILL "$@""#, "sh"])
        .args(pids.iter().map(u32::to_string))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let waiting = wait.spawn().map_err(|error| {
        let what = format!("sh: {error}");
        Error::new(what, "put sh, a basic program of every Unix, on PATH")
    })?;
    // The end that is written to stays open for as long as this program is there.
    forget(waiting);
    Ok(())
}
