//! An HTTP endpoint of the tests' own, which keeps everything.

use std::{sync::Arc, time::Duration};

use outbox::{http::HttpPublisher, publisher::Publisher};

use super::Place;
use crate::endpoint::Endpoint;

pub(crate) struct HttpEndpoint(Endpoint);

impl Place for HttpEndpoint {
    const NAME: &'static str = "HTTP";

    async fn start() -> Self {
        Self(Endpoint::start(Duration::ZERO))
    }

    fn publisher(&self) -> Arc<dyn Publisher> {
        Arc::new(HttpPublisher::new(&self.0.url()).unwrap())
    }

    fn kill(&mut self) {
        self.0.kill();
    }

    fn stop(&mut self) {
        self.0.stop();
    }

    fn start_again(&mut self) {
        self.0.start_again();
    }

    async fn received(&mut self) -> Vec<String> {
        let bodies = self.0.received().into_iter();
        bodies
            .map(|body| String::from_utf8(body.into()).unwrap())
            .collect()
    }
}
