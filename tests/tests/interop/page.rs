//! The code of `docs/interop.md`, as it stands there but for the addresses of servers and the names of queues.

use std::fs;

use outbox::{
    Relay, nats::NatsPublisher, postgres_sqlx::PostgresStore, publisher::Publisher,
    rabbitmq::RabbitMqPublisher, redis::RedisPublisher,
};
use outbox_test_servers::{Cluster, Nats, Options, Postgres, RabbitMq, Redis};
use serde::Deserialize;
use sqlx::{AssertSqlSafe, Executor, PgPool};

use crate::{
    babelqueue::fresh,
    programs::{python, root},
};

/// What a consumer's code gave to its handler.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Handled {
    payload: String,
    trace: Option<String>,
}

/// The database of the page's application, with its table.
struct Shop {
    server: Cluster,
    pool: PgPool,
}

impl Shop {
    async fn open() -> Self {
        let server = tokio::task::block_in_place(|| {
            Postgres::find().unwrap().start(Options::default()).unwrap()
        });
        let pool = PgPool::connect(&server.url("postgres")).await.unwrap();
        PostgresStore::migrate(&pool).await.unwrap();
        let orders = "CREATE TABLE orders (id bigint PRIMARY KEY, total bigint NOT NULL)";
        pool.execute(orders).await.unwrap();
        Self { server, pool }
    }

    /// Runs what the page has for applications, from the beginning, and publishes what it saved.
    async fn save_and_publish(&self, topic: &str, to: impl Publisher) {
        self.pool.execute("TRUNCATE orders").await.unwrap();
        let [sql] = &*code("sql") else { panic!() };
        let sql = replace(sql, "'orders'", &format!("'{topic}'"));
        self.pool
            .execute(sqlx::raw_sql(AssertSqlSafe(sql)))
            .await
            .unwrap();
        let url = self.server.url("postgres");
        for code in code("python")
            .iter()
            .filter(|code| code.contains("psycopg"))
        {
            let code = replace(code, "postgres://shop@localhost/shop", &url);
            run(&code, topic, 0);
        }
        let saved = sqlx::query_scalar("SELECT count(*) FROM orders").fetch_one(&self.pool);
        let saved: i64 = saved.await.unwrap();
        assert_eq!(saved, 3, "rows");
        let store = PostgresStore::open(self.pool.clone()).await.unwrap();
        let report = Relay::new(store, to).drain().await.unwrap();
        assert_eq!(report.published, 3);
    }
}

/// The blocks of code in this language.
fn code(language: &str) -> Vec<String> {
    let page = fs::read_to_string(root().join("docs/interop.md")).unwrap();
    let blocks = page.split("```").skip(1).step_by(2);
    let blocks = blocks.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n'));
    blocks.map(str::to_owned).collect()
}

/// The only block in Python that begins to consume by this.
fn consumer(call: &str) -> String {
    let mut found = code("python");
    found.retain(|code| code.contains(call));
    let [found] = &*found else {
        panic!("not one block with {call}: {found:?}")
    };
    found.clone()
}

fn replace(code: &str, from: &str, to: &str) -> String {
    assert!(code.contains(from), "no {from} in\n{code}");
    code.replace(from, to)
}

fn run(code: &str, topic: &str, calls: usize) -> Vec<Handled> {
    let code = code.replace("\"orders\"", &format!("\"{topic}\""));
    assert!(code.contains(topic), "the code names no topic:\n{code}");
    python("page.py", &[&code, &calls.to_string()])
}

fn handled(id: u32, trace: Option<&str>) -> Handled {
    Handled {
        payload: format!("{{\"id\": {id}}}"),
        trace: trace.map(Into::into),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_code_of_the_page_does_what_the_page_says() {
    let shop = Shop::open().await;
    let (redis, rabbitmq) = (Redis::shared().unwrap(), RabbitMq::shared().unwrap());
    let nats = Nats::shared().unwrap();
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let others = |seen: &[Handled]| {
        // Each of its own key, so the order among them is not said.
        let mut plain: Vec<_> = seen
            .iter()
            .filter(|one| !one.payload.contains("job"))
            .collect();
        plain.sort_by_key(|one| &one.payload);
        let sql = Handled {
            payload: r#"{"id":1042}"#.into(),
            trace: None,
        };
        assert_eq!(plain, [&handled(1043, Some(trace)), &sql]);
        assert_eq!(seen.len(), 3);
    };

    let topic = fresh("orders");
    let publisher = RedisPublisher::new(redis.url()).unwrap();
    shop.save_and_publish(&topic, publisher).await;
    let code = replace(&consumer("app.consume("), "redis://localhost", redis.url());
    assert_eq!(run(&code, &topic, 1), [handled(1044, None)]);

    let topic = fresh("orders");
    let publisher = format!("{}/?layout=stream", redis.url());
    shop.save_and_publish(&topic, RedisPublisher::new(&publisher).unwrap())
        .await;
    let code = replace(&consumer("xreadgroup("), "redis://localhost", redis.url());
    others(&run(&code, &topic, 3));

    let topic = fresh("orders");
    let publisher = format!("{}?declare=true", rabbitmq.url());
    shop.save_and_publish(&topic, RabbitMqPublisher::new(&publisher).unwrap())
        .await;
    let code = replace(
        &consumer("channel.consume("),
        "amqp://localhost",
        rabbitmq.url(),
    );
    others(&run(&code, &topic, 3));

    let (topic, subjects) = (fresh("orders"), fresh("events"));
    let publisher = format!(
        "{}?subject={subjects}.{{topic}}&stream={subjects}&create_stream=true",
        nats.url()
    );
    shop.save_and_publish(&topic, NatsPublisher::new(&publisher).unwrap())
        .await;
    let code = replace(&consumer(".jetstream()"), "nats://localhost", nats.url());
    let code = replace(&code, "events.orders", &format!("{subjects}.{topic}"));
    others(&run(&code, &topic, 3));
}
