//! The notice of a death goes to a broker, beside the handlers, and is never handled itself.

use std::sync::Arc;

use outbox_engine::{Death, DeathNotices, RelayConfig};
use outbox_inbox::HandlerError;
use outbox_message::Message;
use outbox_publisher::Router;
use outbox_store::BoxError;
use outbox_testkit::Recorder;

use crate::scene::{Service, config, relay};

#[derive(Debug)]
struct Verbatim;

impl DeathNotices for Verbatim {
    fn notice(&self, death: &Death<'_>) -> Result<Option<Message>, BoxError> {
        let died = &death.delivery.message;
        let notice = Message::new(format!("{}.dlq", died.topic), died.payload.clone())?;
        Ok(Some(notice))
    }
}

#[tokio::test]
async fn a_notice_of_a_death_goes_to_the_broker_and_not_to_a_handler() {
    let service = Service::ending(|_| Err(HandlerError::new("no such order").permanent()));
    service.deliver("o-1").await;
    let broker = Recorder::new();
    let router = Router::new()
        .route("*.dlq".parse().unwrap(), Arc::new(broker.clone()))
        .route("*".parse().unwrap(), Arc::new(service.processor()));
    let config = RelayConfig {
        notices: Some(Arc::new(Verbatim)),
        ..config()
    };
    let relay = relay(service.incoming.clone(), router, config);
    let report = relay.drain().await.unwrap();
    assert_eq!((report.dead, report.published), (1, 1));
    assert_eq!(service.calls(), ["o-1"]);
    let notices = broker.messages();
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0].topic.as_str(), "orders.dlq");
    let dead = service.dead().await;
    assert_eq!(dead[0].payload.as_deref(), Some(&*notices[0].payload));
}
