//! RabbitMQ: a durable queue, persistent messages, confirms.

use std::{collections::VecDeque, sync::Arc};

use lapin::{
    BasicProperties, Confirmation, Connection, ConnectionProperties,
    options::{BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions},
    types::FieldTable,
};
use outbox::{Message, publisher::Publisher, rabbitmq::RabbitMqPublisher};

use super::{Kind, unique};

pub(crate) struct RabbitMq {
    url: String,
    connection: Connection,
}

impl Kind for RabbitMq {
    const NAME: &'static str = "RabbitMQ";

    async fn open() -> Self {
        let server = outbox_test_servers::RabbitMq::shared().unwrap();
        let url = server.url().to_owned();
        let connection = Connection::connect(&url, ConnectionProperties::default());
        let connection = connection.await.unwrap();
        Self { url, connection }
    }

    async fn topic(&self) -> String {
        let topic = unique();
        let channel = self.connection.create_channel().await.unwrap();
        let options = QueueDeclareOptions {
            durable: true,
            ..QueueDeclareOptions::default()
        };
        channel
            .queue_declare(topic.as_str().into(), options, FieldTable::default())
            .await
            .unwrap();
        topic
    }

    fn publisher(&self) -> Arc<dyn Publisher> {
        Arc::new(RabbitMqPublisher::new(&self.url).unwrap())
    }

    async fn bare(&self, messages: &[Message]) {
        let channel = self.connection.create_channel().await.unwrap();
        channel
            .confirm_select(ConfirmSelectOptions::default())
            .await
            .unwrap();
        let options = BasicPublishOptions {
            mandatory: true,
            ..BasicPublishOptions::default()
        };
        let mut under_way = VecDeque::new();
        for message in messages {
            if under_way.len() == Self::UNDER_WAY {
                confirmed(under_way.pop_front().unwrap()).await;
            }
            let properties = BasicProperties::default()
                .with_delivery_mode(2)
                .with_message_id(message.id.as_str().into());
            let confirm = channel.basic_publish(
                "".into(),
                message.topic.as_str().into(),
                options,
                &message.payload,
                properties,
            );
            under_way.push_back(confirm.await.unwrap());
        }
        for confirm in under_way {
            confirmed(confirm).await;
        }
    }
}

async fn confirmed(confirm: impl Future<Output = lapin::Result<Confirmation>>) {
    let confirmation = confirm.await.unwrap();
    assert!(matches!(confirmation, Confirmation::Ack(None)));
}
