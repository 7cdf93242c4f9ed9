//! HTTP: webhooks without TLS to an endpoint in this process, which keeps them and answers after as long as a service may need
//! to store what it is sent.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt, stream};
use outbox::{Message, http::HttpPublisher, publisher::Publisher};
use reqwest::Client;

use super::{Kind, unique};
use crate::endpoint::Endpoint;

const ANSWER: Duration = Duration::from_millis(10);

pub(crate) struct Http {
    endpoint: Endpoint,
    client: Client,
}

impl Kind for Http {
    const NAME: &'static str = "HTTP";
    /// Each takes a connection.
    const UNDER_WAY: usize = 256;
    const OF_ONE_KEY: usize = 200;

    async fn open() -> Self {
        // The client asks for a provider, though nothing here is encrypted. A second one is refused, which is no matter.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self {
            endpoint: Endpoint::start(ANSWER),
            client: Client::builder().no_proxy().build().unwrap(),
        }
    }

    async fn topic(&self) -> String {
        unique()
    }

    fn publisher(&self) -> Arc<dyn Publisher> {
        Arc::new(HttpPublisher::new(&self.endpoint.url()).unwrap())
    }

    async fn bare(&self, messages: &[Message]) {
        let url = self.endpoint.url();
        let (url, _) = url.split_once('{').unwrap();
        let accepted = stream::iter(messages)
            .map(async |message| {
                let request = self.client.post(format!("{url}{}", message.topic));
                let request = request.header("webhook-id", message.id.as_str());
                let answer = request.body(message.payload.clone()).send().await.unwrap();
                assert!(answer.status().is_success());
            })
            .buffer_unordered(Self::UNDER_WAY)
            .count();
        assert_eq!(accepted.await, messages.len());
    }
}
