//! SIGINT and SIGTERM: the first asks for a graceful stop, the second ends the program at once.

use std::future::Future;

use tokio::sync::oneshot;

use crate::{exit::Exit, failure::Failure};

/// Listens from now on. The future completes with the first signal; with the second the program ends.
pub(crate) fn stop() -> Result<impl Future<Output = ()> + Send + 'static, Failure> {
    let mut signals = system::Signals::listen().map_err(|error| {
        Failure::new(Exit::Broken, format!("cannot listen for signals: {error}"))
    })?;
    let (first, told) = oneshot::channel();
    // Not joined: it listens for as long as the program runs.
    tokio::spawn(async move {
        signals.next().await;
        tracing::info!("stopping gracefully; a second signal stops at once");
        let _ = first.send(());
        let code = signals.next().await;
        tracing::warn!("stopped at once; leases that are held run out by themselves");
        std::process::exit(code);
    });
    Ok(async move {
        let _ = told.await;
    })
}

#[cfg(unix)]
mod system {
    use std::io;

    use tokio::signal::unix::{Signal, SignalKind, signal};

    pub(super) struct Signals {
        interrupt: Signal,
        terminate: Signal,
    }

    impl Signals {
        pub(super) fn listen() -> io::Result<Self> {
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
            })
        }

        /// The next signal, as the exit code of a program that it ended.
        pub(super) async fn next(&mut self) -> i32 {
            tokio::select! {
                _ = self.interrupt.recv() => 130,
                _ = self.terminate.recv() => 143,
            }
        }
    }
}

#[cfg(not(unix))]
mod system {
    use std::io;

    pub(super) struct Signals;

    impl Signals {
        pub(super) fn listen() -> io::Result<Self> {
            Ok(Self)
        }

        /// The next interrupt, as an exit code.
        pub(super) async fn next(&mut self) -> i32 {
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
            130
        }
    }
}
