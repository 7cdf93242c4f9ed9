//! NATS: a stream that is kept in a file, acks.

use std::sync::Arc;

use async_nats::{Client, HeaderMap};
use futures_util::StreamExt;
use outbox::{Message, nats::NatsPublisher, publisher::Publisher};

use super::{Kind, UNDER_WAY, unique};

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
        let inbox = self.client.new_inbox();
        let mut acks = self.client.subscribe(inbox.clone()).await.unwrap();
        let mut under_way = 0;
        for message in messages {
            if under_way == UNDER_WAY {
                acknowledged(acks.next().await);
                under_way -= 1;
            }
            let mut headers = HeaderMap::new();
            headers.insert("Nats-Msg-Id", message.id.as_str());
            let subject = format!("{}.{}", self.stream, message.topic);
            let sent = self.client.publish_with_reply_and_headers(
                subject,
                inbox.clone(),
                headers,
                message.payload.clone(),
            );
            sent.await.unwrap();
            under_way += 1;
        }
        while under_way > 0 {
            acknowledged(acks.next().await);
            under_way -= 1;
        }
    }
}

fn acknowledged(ack: Option<async_nats::Message>) {
    let ack = ack.unwrap();
    assert!(!String::from_utf8_lossy(&ack.payload).contains("error"));
}
