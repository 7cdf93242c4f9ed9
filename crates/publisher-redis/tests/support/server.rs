//! A Redis with a password and TLS, what stands in it, and publishers to it.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};

use outbox_test_servers::{Redis, RedisOptions};
use redis::aio::MultiplexedConnection;

pub(crate) const PASSWORD: &str = "pass-word-of-tests";

/// The longest value that the servers take: the least that can be set.
pub(crate) const MAX_BYTES: usize = 1024 * 1024;

pub(crate) fn options() -> RedisOptions {
    RedisOptions {
        password: Some(PASSWORD.to_owned()),
        tls: true,
        settings: vec![("proto-max-bulk-len".to_owned(), MAX_BYTES.to_string())],
    }
}

/// The server that the tests of this program share, and that ends with it; each takes keys of its own.
pub(crate) fn shared() -> Arc<Redis> {
    static SHARED: OnceLock<Arc<Redis>> = OnceLock::new();
    Arc::clone(SHARED.get_or_init(|| {
        let server = Redis::start(options()).unwrap();
        server.end_with_this_program().unwrap();
        Arc::new(server)
    }))
}

/// A name that no other test of this program has.
pub(crate) fn unique(name: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{name}-{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The port for TLS.
pub(crate) fn tls_port(server: &Redis) -> u16 {
    let url = server.tls_url().unwrap();
    url.rsplit_once(':').unwrap().1.parse().unwrap()
}

/// A client for looking, which goes straight to the server.
pub(crate) async fn client(server: &Redis) -> MultiplexedConnection {
    let client = redis::Client::open(server.url()).unwrap();
    let config = redis::AsyncConnectionConfig::new()
        .set_connection_timeout(None)
        .set_response_timeout(None);
    client
        .get_multiplexed_async_connection_with_config(&config)
        .await
        .unwrap()
}

/// A server with nothing set but this.
pub(crate) fn plain(settings: &[(&str, &str)]) -> Redis {
    let settings = settings.iter();
    Redis::start(RedisOptions {
        settings: settings
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        ..RedisOptions::default()
    })
    .unwrap()
}

/// Says something to a server.
pub(crate) async fn answer(server: &Redis, command: &str) -> redis::Value {
    let mut client = client(server).await;
    let mut words = command.split(' ');
    let mut command = redis::cmd(words.next().unwrap());
    command.arg(words.collect::<Vec<_>>());
    command.query_async(&mut client).await.unwrap()
}

/// The same, with the answer as text.
pub(crate) async fn say(server: &Redis, command: &str) -> String {
    match answer(server, command).await {
        redis::Value::Okay => "OK".to_owned(),
        redis::Value::Int(number) => number.to_string(),
        redis::Value::SimpleString(text) => text,
        redis::Value::BulkString(bytes) => String::from_utf8(bytes).unwrap(),
        other => format!("{other:?}"),
    }
}

/// The elements of a list.
pub(crate) async fn list(server: &Redis, key: &str) -> Vec<String> {
    let mut client = client(server).await;
    let range = redis::cmd("LRANGE").arg(key).arg(0).arg(-1).to_owned();
    range.query_async(&mut client).await.unwrap()
}
