//! The one connection that all runs share: made when it is needed, made anew when it is lost, by one attempt at a time.
//! Leaves out what is said over it after the login.

use std::{
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
};
use redis::{
    AsyncConnectionConfig, Cmd, Pipeline, RedisConnectionInfo, RedisError, Value,
    aio::MultiplexedConnection,
};
use tokio::{task::JoinHandle, time::timeout};

use crate::{
    RedisConfig,
    dial::{DialError, dial},
    limits::Limits,
};

/// How many commands may wait to be written. More wait in their own futures.
const WAITING: usize = 1024;

/// The connection, whether it stands or not. Whoever needs it while it is being made waits for the same attempt.
#[derive(Debug)]
pub(crate) struct Link {
    config: Arc<RedisConfig>,
    state: Arc<Mutex<State>>,
}

type Attempt = Shared<BoxFuture<'static, Result<Arc<Live>, Arc<ConnectError>>>>;

#[derive(Debug)]
enum State {
    Down,
    /// Weak, so that an attempt which nobody waits for any more ends, and is not taken up again much later.
    Connecting(WeakShared<BoxFuture<'static, Result<Arc<Live>, Arc<ConnectError>>>>),
    Up(Arc<Live>),
}

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum ConnectError {
    Dial(DialError),
    /// Connecting and logging in took too long.
    Timeout,
    /// It was lost during the login.
    Lost(RedisError),
    /// The server did not like one of the first commands, which is named.
    Refused(&'static str, redis::ServerError),
}

impl Link {
    pub(crate) fn new(config: Arc<RedisConfig>) -> Self {
        Self {
            config,
            state: Arc::new(Mutex::new(State::Down)),
        }
    }

    /// The connection that stands, or one that is made now.
    pub(crate) async fn live(&self) -> Result<Arc<Live>, Arc<ConnectError>> {
        let attempt = {
            let mut state = lock(&self.state);
            match &*state {
                State::Up(live) if live.is_usable() => return Ok(Arc::clone(live)),
                State::Connecting(attempt) => match attempt.upgrade() {
                    Some(attempt) => attempt,
                    None => self.begin(&mut state),
                },
                _ => self.begin(&mut state),
            }
        };
        attempt.await
    }

    fn begin(&self, state: &mut State) -> Attempt {
        let (config, place) = (Arc::clone(&self.config), Arc::clone(&self.state));
        let attempt = async move {
            let connected = timeout(config.connect_timeout, Live::connect(&config)).await;
            let connected = match connected.unwrap_or(Err(ConnectError::Timeout)) {
                Ok(live) => Ok(Arc::new(live)),
                Err(error) => Err(Arc::new(error)),
            };
            // The state is of this attempt: no other begins while somebody polls this one.
            *lock(&place) = match &connected {
                Ok(live) => State::Up(Arc::clone(live)),
                Err(_) => State::Down,
            };
            connected
        };
        let attempt = attempt.boxed().shared();
        *state = match attempt.downgrade() {
            Some(weak) => State::Connecting(weak),
            None => State::Down,
        };
        attempt
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection that is logged in. Many commands are under way at once, answered in their order.
#[derive(Debug)]
pub(crate) struct Live {
    connection: MultiplexedConnection,
    driver: JoinHandle<()>,
    given_up: AtomicBool,
    pub(crate) limits: Limits,
}

impl Live {
    async fn connect(config: &RedisConfig) -> Result<Self, ConnectError> {
        let stream = dial(config).await.map_err(ConnectError::Dial)?;
        // What the client itself would say first is said below, where the server's own words are seen.
        let nothing = RedisConnectionInfo::default().set_skip_set_lib_name();
        // How long an answer is waited for is the relay's business.
        let settings = AsyncConnectionConfig::new()
            .set_response_timeout(None)
            .set_connection_timeout(None)
            .set_pipeline_buffer_size(WAITING);
        let (connection, driver) =
            MultiplexedConnection::new_with_config(&nothing, stream, settings)
                .await
                .map_err(ConnectError::Lost)?;
        let mut live = Self {
            connection,
            driver: tokio::spawn(driver),
            given_up: AtomicBool::new(false),
            limits: Limits::default(),
        };
        live.limits = live.log_in(config).await?;
        Ok(live)
    }

    /// Says who we are, and asks what the server takes.
    async fn log_in(&self, config: &RedisConfig) -> Result<Limits, ConnectError> {
        let mut commands = Pipeline::new();
        let mut names = Vec::new();
        if let Some(password) = &config.password {
            let auth = commands.cmd("AUTH");
            if let Some(username) = &config.username {
                auth.arg(username);
            }
            auth.arg(password);
            names.push("AUTH");
        }
        if config.database != 0 {
            commands.cmd("SELECT").arg(config.database);
            names.push("SELECT");
        }
        for setting in Limits::SETTINGS {
            commands.cmd("CONFIG").arg("GET").arg(setting);
        }
        let mut answers = self.ask_all(&commands).await.map_err(ConnectError::Lost)?;
        let settings = answers.split_off(names.len());
        for (name, answer) in names.into_iter().zip(answers) {
            if let Value::ServerError(error) = answer {
                return Err(ConnectError::Refused(name, error));
            }
        }
        Limits::read(settings, config.max_bytes)
            .map_err(|error| ConnectError::Refused("CONFIG GET", error))
    }

    /// Sends a command and waits for its answer.
    pub(crate) async fn ask(&self, command: &Cmd) -> Result<Value, RedisError> {
        let asking = Asking(self);
        let answer = self.connection.clone().send_packed_command(command).await;
        asking.answered(answer)
    }

    /// Sends commands at once and waits for all answers. Others may be answered in between.
    pub(crate) async fn ask_all(&self, commands: &Pipeline) -> Result<Vec<Value>, RedisError> {
        let asking = Asking(self);
        let count = commands.cmd_iter().count();
        let answers = self
            .connection
            .clone()
            .send_packed_commands(commands, 0, count)
            .await;
        asking.answered(answers)
    }

    /// Lets whoever comes next make another connection. What is under way here goes on.
    pub(crate) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    fn is_usable(&self) -> bool {
        !self.given_up.load(Ordering::Relaxed) && !self.driver.is_finished()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// A question without an answer. If it gets none, because it failed or because nobody waits any more, a server or network
/// that went silent may be why: the next run uses another connection.
struct Asking<'a>(&'a Live);

impl Asking<'_> {
    fn answered<T>(self, answer: Result<T, RedisError>) -> Result<T, RedisError> {
        if answer.is_ok() {
            mem::forget(self);
        }
        answer
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.give_up();
    }
}
