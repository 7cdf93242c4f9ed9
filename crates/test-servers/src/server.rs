//! One private broker: its address, and stopping, freezing and starting its server. It is the same for all brokers.

use std::path::{Path, PathBuf};
use std::process::Child;

use crate::account::Account;
use crate::broker::{self, Broker, Ports, Running};
use crate::certificates::Certificates;
use crate::home::{Base, Home};
use crate::kind::End;
use crate::launch::{self, Group};
use crate::process::{self, Signal};
use crate::{Error, Result};

/// A private server: [`RabbitMq`](crate::RabbitMq), [`Nats`](crate::Nats), [`Redis`](crate::Redis) or
/// [`Kafka`](crate::Kafka). Dropping it stops it, by the process id that was started here and no other, and removes its data. One in a `static` is not dropped: the next
/// start of any server finds it and stops it.
#[derive(Debug)]
pub struct Server<B: Broker> {
    options: B,
    home: Home,
    account: Account,
    ports: Ports,
    certificates: Option<Certificates>,
    running: Option<Running>,
}

impl<B: Broker> Server<B> {
    /// Starts a server on a free port and waits until it takes connections. Ctrl-C stops it too.
    ///
    /// # Errors
    ///
    /// Its program is not installed, or it does not start; the error tells what it said.
    pub fn start(options: B) -> Result<Self> {
        let account = Account::find()?;
        Self::start_at(options, account, &Base::find(account)?)
    }

    /// As [`start`](Self::start), with the data in this folder.
    pub fn start_in(folder: &Path, options: B) -> Result<Self> {
        let account = Account::find()?;
        Self::start_at(options, account, &Base::at(folder, account)?)
    }

    fn start_at(options: B, account: Account, base: &Base) -> Result<Self> {
        let certificates = options
            .wants_tls()
            .then(|| Certificates::find(base, account));
        let certificates = certificates.transpose()?;
        let home = Home::throwaway(base, account)?;
        let (ports, running) = launch::on_free_ports(
            |_| Ports::free(None),
            |ports| {
                let certificates = certificates.as_ref();
                broker::launch(
                    &options,
                    (&home, account),
                    *ports,
                    certificates,
                    Group::Terminal,
                )
            },
        )?;
        Ok(Self {
            options,
            home,
            account,
            ports,
            certificates,
            running: Some(running),
        })
    }

    /// The environment variable with the URL of a server for tests, which [`shared`](Self::shared) takes.
    pub fn variable() -> &'static str {
        B::NEEDS.variable
    }

    /// The URL of the server, with the user and the password if it asks for them, and without a path.
    pub fn url(&self) -> String {
        self.options.url(self.ports)
    }

    /// The URL for TLS, if the options ask for it. A client also has to trust [`ca_file`](Self::ca_file).
    pub fn tls_url(&self) -> Option<String> {
        let certificates = self.certificates.as_ref();
        certificates.map(|_| self.options.tls_url(self.ports))
    }

    /// The certificate, in PEM, of whoever signed the server's, which is for `localhost` and `127.0.0.1`.
    pub fn ca_file(&self) -> Option<&Path> {
        self.certificates.as_ref().map(Certificates::ca)
    }

    /// The port on 127.0.0.1 for clients without TLS; it stays the same when the server is started again.
    pub fn port(&self) -> u16 {
        self.ports.plain
    }

    /// The process id of the server, if it was not stopped.
    pub fn pid(&self) -> Option<u32> {
        self.running.as_ref().map(|running| running.server.id())
    }

    /// Those of the server and of what belongs to it.
    pub(crate) fn pids(&self) -> Vec<u32> {
        let running = self.running.iter();
        running
            .flat_map(|running| [Some(&running.server), running.names.as_ref()])
            .flatten()
            .map(Child::id)
            .collect()
    }

    /// What the server says. The file stays when the server is dropped, until another takes its place.
    pub fn log(&self) -> PathBuf {
        self.home.log()
    }

    /// Ends the server at once, as a crash does. One that does not run is left alone.
    pub fn kill(&mut self) -> Result {
        self.end(End::AtOnce)
    }

    /// Ends the server as an operator does: it writes everything down. One that does not run is left alone.
    pub fn stop(&mut self) -> Result {
        if self.running.is_some() {
            // A frozen one does not hear it.
            self.thaw()?;
        }
        self.end(End::Gently)
    }

    /// Starts the server again with the same options and ports, and with the same data if it keeps them outside of its
    /// memory: a Kafka does only if it is told to. One that runs is left alone.
    ///
    /// # Errors
    ///
    /// It does not start; the error tells what it said.
    pub fn start_again(&mut self) -> Result {
        if self.running.is_none() {
            let certificates = self.certificates.as_ref();
            let at = (&self.home, self.account);
            let running =
                broker::launch(&self.options, at, self.ports, certificates, Group::Terminal)?;
            self.running = Some(running);
        }
        Ok(())
    }

    /// Lets the server stand still: its connections stay open, and nothing is answered.
    ///
    /// # Errors
    ///
    /// It does not run.
    pub fn freeze(&self) -> Result {
        process::freeze(self.pid().ok_or_else(|| self.stopped())?);
        Ok(())
    }

    /// Lets a frozen server go on.
    ///
    /// # Errors
    ///
    /// It does not run.
    pub fn thaw(&self) -> Result {
        let pid = self.pid().ok_or_else(|| self.stopped())?;
        process::signal(pid, Signal::Continue);
        Ok(())
    }

    fn end(&mut self, end: End) -> Result {
        let Some(running) = self.running.take() else {
            return Ok(());
        };
        self.options.before_end();
        running.end(B::KIND, end)
    }

    pub(crate) fn stopped(&self) -> Error {
        let what = format!("the {} of port {} does not run", B::KIND.name, self.port());
        Error::new(what, "start it again first")
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.home.folder().join(B::KIND.name)
    }

    pub(crate) fn name(&self) -> String {
        broker::name(&self.home)
    }

    pub(crate) fn account(&self) -> Account {
        self.account
    }

    pub(crate) fn ports(&self) -> Ports {
        self.ports
    }

    pub(crate) fn options(&self) -> &B {
        &self.options
    }
}

impl<B: Broker> Drop for Server<B> {
    fn drop(&mut self) {
        // What stays is cleared away by the next start.
        if let Some(running) = self.running.take() {
            let _ = running.end(B::KIND, End::AtOnce);
        }
    }
}
