//! Redis: lists and streams, as many commands in a pipeline as a bare loop has under way.

use std::sync::Arc;

use outbox::{Message, publisher::Publisher, redis::RedisPublisher};
use redis::{Pipeline, aio::MultiplexedConnection};

use super::{Kind, unique};

struct Server {
    url: String,
    connection: MultiplexedConnection,
}

impl Server {
    async fn open() -> Self {
        let server = outbox_test_servers::Redis::shared().unwrap();
        let url = server.url().to_owned();
        let client = redis::Client::open(url.as_str()).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        // Rewriting the file of what was appended takes a core from whatever is measured at that time.
        let rewrite = redis::cmd("CONFIG")
            .arg(&["SET", "auto-aof-rewrite-percentage", "0"])
            .to_owned();
        rewrite.exec_async(&mut connection).await.unwrap();
        Self { url, connection }
    }

    fn publisher(&self, parameters: &str) -> Arc<dyn Publisher> {
        let url = format!("{}/?{parameters}", self.url);
        Arc::new(RedisPublisher::new(&url).unwrap())
    }

    async fn bare<K: Kind>(&self, messages: &[Message], add: impl Fn(&mut Pipeline, &Message)) {
        let mut connection = self.connection.clone();
        for messages in messages.chunks(K::UNDER_WAY) {
            let mut pipeline = redis::pipe();
            for message in messages {
                add(&mut pipeline, message);
            }
            pipeline.exec_async(&mut connection).await.unwrap();
        }
    }
}

pub(crate) struct RedisList(Server);

impl Kind for RedisList {
    const NAME: &'static str = "Redis lists";

    async fn open() -> Self {
        Self(Server::open().await)
    }

    async fn topic(&self) -> String {
        unique()
    }

    fn publisher(&self) -> Arc<dyn Publisher> {
        self.0.publisher("layout=list")
    }

    async fn bare(&self, messages: &[Message]) {
        let add = |pipeline: &mut Pipeline, message: &Message| {
            let push = pipeline.cmd("RPUSH").arg(message.topic.as_str());
            push.arg(&*message.payload).ignore();
        };
        self.0.bare::<Self>(messages, add).await;
    }
}

pub(crate) struct RedisStream(Server);

impl Kind for RedisStream {
    const NAME: &'static str = "Redis streams";

    async fn open() -> Self {
        Self(Server::open().await)
    }

    async fn topic(&self) -> String {
        unique()
    }

    fn publisher(&self) -> Arc<dyn Publisher> {
        self.0.publisher("layout=stream&max_len=1000000")
    }

    async fn bare(&self, messages: &[Message]) {
        let add = |pipeline: &mut Pipeline, message: &Message| {
            let add = pipeline.cmd("XADD").arg(message.topic.as_str());
            let add = add.arg(&["MAXLEN", "~", "1000000", "*", "id"]);
            add.arg(message.id.as_str())
                .arg("topic")
                .arg(message.topic.as_str());
            if let Some(key) = &message.key {
                add.arg("key").arg(key.as_str());
            }
            add.arg("payload").arg(&*message.payload).ignore();
        };
        self.0.bare::<Self>(messages, add).await;
    }
}
