//! NATS: a stream that is kept in a file, acks.

use std::sync::Arc;

use async_nats::{Client, HeaderMap, Request};
use futures_util::{StreamExt, stream};
use outbox::{Message, nats::NatsPublisher, publisher::Publisher};

use super::{Kind, unique};

pub(crate) struct Nats {
    url: String,
    client: Client,
    stream: String,
}

impl Kind for Nats {
    const NAME: &'static str = "NATS JetStream";

    async fn open() -> Self {
        let server = outbox_test_servers::Nats::shared().unwrap();
        let url = server.url().to_owned();
        let client = async_nats::connect(&url).await.unwrap();
        let stream = unique();
        let config = format!(
            r#"{{"name":"{stream}","subjects":["{stream}.>"],"storage":"file","duplicate_window":120000000000}}"#
        );
        let create = format!("$JS.API.STREAM.CREATE.{stream}");
        let made = client.request(create, config.into()).await.unwrap();
        assert!(!String::from_utf8_lossy(&made.payload).contains("error"));
        Self {
            url,
            client,
            stream,
        }
    }

    async fn topic(&self) -> String {
        unique()
    }

    fn publisher(&self) -> Arc<dyn Publisher> {
        let stream = &self.stream;
        let url = format!("{}?stream={stream}&subject={stream}.{{topic}}", self.url);
        Arc::new(NatsPublisher::new(&url).unwrap())
    }

    async fn bare(&self, messages: &[Message]) {
        let acknowledged = stream::iter(messages)
            .map(async |message| {
                let mut headers = HeaderMap::new();
                headers.insert("Nats-Msg-Id", message.id.as_str());
                headers.insert("Nats-Expected-Stream", &*self.stream);
                headers.insert("bq-message-id", message.id.as_str());
                let subject = format!("{}.{}", self.stream, message.topic);
                let request = Request::new().headers(headers);
                let request = request.payload(message.payload.clone()).timeout(None);
                let ack = self.client.send_request(subject, request).await.unwrap();
                assert!(!String::from_utf8_lossy(&ack.payload).contains("error"));
            })
            .buffer_unordered(Self::UNDER_WAY)
            .count();
        assert_eq!(acknowledged.await, messages.len());
    }
}
