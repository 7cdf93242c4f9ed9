//! Redis, which appends to its file whatever it answers, with a list or a stream.

use std::sync::Arc;

use outbox::{publisher::Publisher, redis::RedisPublisher};
use outbox_test_servers::{Redis, RedisOptions};

use super::{Place, TOPIC};

pub(crate) struct RedisList(Redis);

pub(crate) struct RedisStream(Redis);

fn publisher(server: &Redis, parameters: &str) -> Arc<dyn Publisher> {
    let url = format!("{}/?{parameters}", server.url());
    Arc::new(RedisPublisher::new(&url).unwrap())
}

impl Place for RedisList {
    const NAME: &'static str = "Redis lists";

    async fn start() -> Self {
        Self(Redis::start(RedisOptions::default()).unwrap())
    }

    fn publisher(&self) -> Arc<dyn Publisher> {
        publisher(&self.0, "layout=list")
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
    }

    fn stop(&mut self) {
        self.0.stop().unwrap();
    }

    fn start_again(&mut self) {
        self.0.start_again().unwrap();
    }

    async fn received(&mut self) -> Vec<String> {
        let all = self.0.redis_cli(&["LRANGE", TOPIC, "0", "-1"]).unwrap();
        all.lines().map(str::to_owned).collect()
    }
}

impl Place for RedisStream {
    const NAME: &'static str = "Redis streams";

    async fn start() -> Self {
        Self(Redis::start(RedisOptions::default()).unwrap())
    }

    fn publisher(&self) -> Arc<dyn Publisher> {
        publisher(&self.0, "layout=stream&max_len=1000000")
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
    }

    fn stop(&mut self) {
        self.0.stop().unwrap();
    }

    fn start_again(&mut self) {
        self.0.start_again().unwrap();
    }

    async fn received(&mut self) -> Vec<String> {
        let all = self.0.redis_cli(&["XRANGE", TOPIC, "-", "+"]).unwrap();
        let mut lines = all.lines();
        let mut received = Vec::new();
        // Names and values of fields, one a line.
        while let Some(line) = lines.next() {
            if line == "payload" {
                received.extend(lines.next().map(str::to_owned));
            }
        }
        received
    }
}
