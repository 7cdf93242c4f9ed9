//! Where a publisher publishes to, whether that is there, and the words for what goes wrong.

use std::time::Duration;

use outbox_message::Topic;
use outbox_publisher::{PublishError, PublishErrorKind};
use rdkafka::{
    error::{KafkaError, RDKafkaErrorCode},
    metadata::MetadataTopic,
};

use crate::{
    KafkaConfig,
    client::Client,
    failure::{self, Fault},
    link::Link,
    settings::{self, Role},
    topic,
};

/// The cluster, and the clients that speak to it.
pub(crate) struct Target {
    pub(crate) config: KafkaConfig,
    /// The brokers, as people read them.
    pub(crate) address: String,
    /// What sends records, in batches.
    pub(crate) batching: Link,
    /// What sends a record by itself, and looks at what there is.
    pub(crate) single: Link,
}

impl Target {
    pub(crate) fn new(config: KafkaConfig) -> Self {
        let link = |role| Link::new(settings::of(&config, role));
        Self {
            address: config.address(),
            batching: link(Role::Batching),
            single: link(Role::Single),
            config,
        }
    }

    /// The topic of Kafka for messages of this topic.
    pub(crate) fn topic(&self, topic: &Topic) -> Result<String, PublishError> {
        topic::name(&self.config.topic, topic).ok_or_else(|| {
            let name = self.config.topic.of_topic(topic);
            let text = format!(
                "{name:?} is no name of a topic of Kafka, which has at most 249 letters of ASCII, digits, dots, underscores \
                 and hyphens"
            );
            PublishError::new(PublishErrorKind::Malformed, text)
        })
    }

    /// Whether the brokers answer and let us in.
    pub(crate) async fn reach(&self) -> Result<(), PublishError> {
        let client = self.single.client().await;
        let client = client.map_err(|error| self.no_client(error))?;
        let fetched = client.metadata(None, self.patience()).await;
        fetched
            .map(drop)
            .map_err(|error| self.no_answer(&client, &error))
    }

    /// Whether the topic of Kafka for messages of this topic is there, with a leader for each partition.
    pub(crate) async fn check(&self, topic: &Topic) -> Result<(), PublishError> {
        let topic = self.topic(topic)?;
        let client = self.single.client().await;
        let client = client.map_err(|error| self.no_client(error))?;
        let fetched = client.metadata(Some(topic.clone()), self.patience()).await;
        let metadata = fetched.map_err(|error| self.no_answer(&client, &error))?;
        let found = metadata.topics().iter().find(|it| it.name() == topic);
        let problem = match found {
            Some(found) => problem(found),
            None => Some(RDKafkaErrorCode::UnknownTopicOrPartition),
        };
        match problem {
            Some(code) => Err(self.not_delivered(&topic, &client, failure::of(code), code)),
            None => Ok(()),
        }
    }

    /// How long a question to the brokers may take, with connecting.
    fn patience(&self) -> Duration {
        self.config.message_timeout
    }

    /// A record of this topic was not delivered.
    pub(crate) fn not_delivered(
        &self,
        topic: &str,
        client: &Client,
        fault: Fault,
        code: RDKafkaErrorCode,
    ) -> PublishError {
        let address = &self.address;
        let text = match fault {
            Fault::Timeout => {
                let seconds = self.config.message_timeout.as_secs();
                let why = why(client);
                format!(
                    "{address} did not confirm a record of topic {topic} within {seconds} s{why}"
                )
            }
            Fault::Missing => format!(
                "topic {topic} does not exist on {address}; create it, or correct the topic in the URL"
            ),
            Fault::Forbidden => format!(
                "topic {topic} on {address} may not be written to by this user; permit Write on it"
            ),
            Fault::Refused => format!("{address} refuses this user or what it does{}", why(client)),
            Fault::Numbering => {
                let why = client
                    .fatal()
                    .map_or_else(String::new, |why| format!(": {why}"));
                format!(
                    "{address} and this producer number its records differently, so it is replaced{why}"
                )
            }
            Fault::Neighbor | Fault::Other(_) => {
                format!("{address} did not take a record of topic {topic}")
            }
        };
        PublishError::new(fault.kind(), text).with_source(code)
    }

    /// A question was not answered.
    fn no_answer(&self, client: &Client, error: &KafkaError) -> PublishError {
        let code = error.rdkafka_error_code();
        let kind = code.map_or(PublishErrorKind::Unavailable, |code| {
            failure::of(code).kind()
        });
        let text = format!("{} does not answer{}", self.address, why(client));
        PublishError::new(kind, text).with_source(error.clone())
    }

    /// The client could not even be made.
    pub(crate) fn no_client(&self, error: KafkaError) -> PublishError {
        let text = format!("no client for {} can be made", self.address);
        PublishError::new(PublishErrorKind::Unavailable, text).with_source(error)
    }
}

/// What hinders records of a topic, if anything does.
fn problem(topic: &MetadataTopic) -> Option<RDKafkaErrorCode> {
    let of_topic = topic.error().map(RDKafkaErrorCode::from);
    let partitions = topic.partitions();
    let is_led =
        !partitions.is_empty() && partitions.iter().all(|partition| partition.leader() >= 0);
    of_topic.or_else(|| (!is_led).then_some(RDKafkaErrorCode::LeaderNotAvailable))
}

/// What the client complains about, to stand behind a sentence.
fn why(client: &Client) -> String {
    let trouble = client.trouble();
    trouble.map_or_else(String::new, |trouble| format!(": {trouble}"))
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    #[test]
    fn what_the_client_library_says_is_the_source_and_not_in_the_text_too() {
        let target = Target::new(KafkaConfig::default());
        let error = KafkaError::ClientCreation("no threads".to_owned());
        let failure = target.no_client(error);
        assert_eq!(
            failure.text,
            "no client for kafka://localhost:9092 can be made"
        );
        let source = failure.source().unwrap().to_string();
        assert!(source.contains("no threads"), "{source}");
    }
}
