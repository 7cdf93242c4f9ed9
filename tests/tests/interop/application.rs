//! Applications in Python that save messages inside of their own transactions. The relay publishes them.

use std::{collections::BTreeMap, sync::Arc};

use outbox::{
    publisher::{Router, TopicPattern},
    rabbitmq::RabbitMqPublisher,
    redis::RedisPublisher,
};
use outbox_test_servers::{RabbitMq, Redis};
use serde::Deserialize;

use crate::{
    babelqueue::{Consumer, Seen, fresh},
    programs::{Bytes, python},
    schema::server_url,
    stand::Stand,
};

/// The table of the application's own rows, in the schema of the test.
const ORDERS: &str = "CREATE TABLE outbox.orders (id bigint PRIMARY KEY, customer text NOT NULL)";

/// What an application committed, and what a reader of the stream saw.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Message {
    id: String,
    key: Option<String>,
    content_type: Option<String>,
    #[serde(default)]
    headers: Vec<(String, String)>,
    payload: Bytes,
}

/// What an application committed as an envelope.
#[derive(Debug, Deserialize)]
struct Written {
    id: String,
    key: String,
    queue: String,
    trace_id: String,
    body: Bytes,
}

/// The messages of each key in their order. Those without a key have none, and are sorted by their ids.
fn by_key(messages: &[Message]) -> BTreeMap<Option<&str>, Vec<&Message>> {
    let mut keys = BTreeMap::<_, Vec<_>>::new();
    for message in messages {
        keys.entry(message.key.as_deref())
            .or_default()
            .push(message);
    }
    if let Some(unordered) = keys.get_mut(&None) {
        unordered.sort_by_key(|message| &message.id);
    }
    keys
}

#[tokio::test(flavor = "multi_thread")]
async fn c1_c2_what_an_application_in_python_commits_through_the_sql_function_is_published_and_nothing_else()
 {
    let stand = Stand::new().await;
    stand.schema.run(ORDERS).await;
    let topic = fresh("orders");
    let committed: Vec<Message> = python(
        "application_sql.py",
        &[&server_url(), stand.schema.name.as_str(), &topic],
    );
    // Of 60 orders every third was rolled back, by the application or by the database.
    assert_eq!(committed.len(), 80);
    assert_eq!(
        stand
            .schema
            .count("SELECT count(*) FROM outbox.orders")
            .await,
        40
    );

    let server = Redis::shared().unwrap();
    let publisher = RedisPublisher::new(&format!("{}/?layout=stream", server.url())).unwrap();
    assert_eq!(stand.publish(publisher).await, 80);
    let read: Vec<Message> = python("redis_stream.py", &[server.url(), &topic]);
    assert_eq!(by_key(&read), by_key(&committed));
}

#[tokio::test(flavor = "multi_thread")]
async fn c1_c2_what_an_application_writes_through_babelqueue_and_its_store_in_the_documentation_is_published()
 {
    let stand = Stand::new().await;
    stand.schema.run(ORDERS).await;
    let queues = [fresh("orders"), fresh("payments")];
    let committed: Vec<Written> = python(
        "application_babelqueue.py",
        &[
            &server_url(),
            stand.schema.name.as_str(),
            &queues[0],
            &queues[1],
        ],
    );
    assert_eq!(committed.len(), 80);
    assert_eq!(
        stand
            .schema
            .count("SELECT count(*) FROM outbox.orders")
            .await,
        40
    );

    // Consumers take the id out of the envelope; the outbox has the same.
    let ids = committed.iter().map(|written| &written.id);
    assert!(ids.eq(&stand.pending_ids().await));

    let (redis, rabbitmq) = (Redis::shared().unwrap(), RabbitMq::shared().unwrap());
    let to_redis = RedisPublisher::new(redis.url()).unwrap();
    let to_rabbitmq = RabbitMqPublisher::new(&format!("{}?declare=true", rabbitmq.url())).unwrap();
    let pattern = |queue: &str| queue.parse::<TopicPattern>().unwrap();
    let router = Router::new()
        .route(pattern(&queues[0]), Arc::new(to_redis))
        .route(pattern(&queues[1]), Arc::new(to_rabbitmq));
    assert_eq!(stand.publish(router).await, 80);

    let mut seen = Consumer::default().consume(redis.url(), &[&queues[0]]);
    seen.extend(Consumer::default().consume(rabbitmq.url(), &[&queues[1]]));
    let keys: BTreeMap<_, _> = committed
        .iter()
        .map(|written| (&*written.id, &*written.key))
        .collect();
    let mut found = BTreeMap::<_, Vec<_>>::new();
    for Seen {
        queue,
        body,
        id,
        trace_id,
        ..
    } in &seen
    {
        found
            .entry((&**queue, keys[&**id]))
            .or_default()
            .push((id, trace_id, body));
    }
    let mut wanted = BTreeMap::<_, Vec<_>>::new();
    for Written {
        id,
        key,
        queue,
        trace_id,
        body,
    } in &committed
    {
        wanted
            .entry((&**queue, &**key))
            .or_default()
            .push((id, trace_id, body));
    }
    assert_eq!(found, wanted);
}
