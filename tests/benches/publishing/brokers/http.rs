//! HTTP: webhooks to an endpoint in this process, which keeps them, without TLS.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use outbox::{Message, http::HttpPublisher, publisher::Publisher};
use reqwest::Client;

use super::{Kind, UNDER_WAY, unique};
use crate::endpoint::Endpoint;

pub(crate) struct Http {
    endpoint: Endpoint,
    client: Client,
}

impl Kind for Http {
    const NAME: &'static str = "HTTP";

    async fn open() -> Self {
        // The client asks for a provider, though nothing here is encrypted. A second one is refused, which is no matter.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self {
            endpoint: Endpoint::start(),
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
            .buffer_unordered(UNDER_WAY)
            .count();
        assert_eq!(accepted.await, messages.len());
    }
}
