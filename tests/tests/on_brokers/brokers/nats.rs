//! NATS with a stream that is kept in a file.

use std::sync::Arc;

use async_nats::Client;
use outbox::{nats::NatsPublisher, publisher::Publisher};
use outbox_test_servers::{Nats, NatsOptions};

use super::{Place, TOPIC};

pub(crate) struct NatsStream(Nats);

impl NatsStream {
    async fn client(&self) -> Client {
        async_nats::connect(self.0.url()).await.unwrap()
    }
}

impl Place for NatsStream {
    const NAME: &'static str = "NATS JetStream";

    async fn start() -> Self {
        let broker = Self(Nats::start(NatsOptions::default()).unwrap());
        let config = format!(
            r#"{{"name":"T","subjects":["{TOPIC}"],"storage":"file","allow_direct":true}}"#
        );
        let client = broker.client().await;
        let made = client.request("$JS.API.STREAM.CREATE.T", config.into());
        let made = made.await.unwrap();
        assert!(!String::from_utf8_lossy(&made.payload).contains("error"));
        broker
    }

    fn publisher(&self) -> Arc<dyn Publisher> {
        let url = format!("{}?stream=T&subject={{topic}}", self.0.url());
        Arc::new(NatsPublisher::new(&url).unwrap())
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
        let client = self.client().await;
        let mut received = Vec::new();
        loop {
            let next = format!(r#"{{"seq":{}}}"#, received.len() + 1);
            let got = client.request("$JS.API.DIRECT.GET.T", next.into());
            let got = got.await.unwrap();
            // There is none with this number.
            if got.status.is_some() {
                return received;
            }
            received.push(String::from_utf8(got.payload.to_vec()).unwrap());
        }
    }
}
