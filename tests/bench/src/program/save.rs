//! Writers that save as fast as they can: through this outbox, or into a plain table.

use std::{sync::Arc, time::Duration};

use outbox::{
    Message, Save,
    message::{Lanes, PartitionKey},
    postgres_sqlx::{PostgresConfig, PostgresStore, WakeUp},
    store::SaveOrder,
};
use serde::{Deserialize, Serialize};
use sqlx::{
    PgConnection, Postgres,
    postgres::{PgArguments, PgPoolOptions},
};
use tokio::time::Instant;

use super::{outbox_tables::TOPIC, told};
use crate::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    url: String,
    #[arg(long)]
    how: How,
    #[arg(long)]
    writers: u32,
    #[arg(long)]
    per_transaction: u32,
    #[arg(long)]
    seconds: u64,
}

/// How a transaction saves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum How {
    /// `INSERT` of the same bytes into a table with a primary key and no other index.
    Insert,
    /// The same, where the primary key begins with the lane of the message.
    InsertIntoLanes,
    Save,
    WakeUp,
    OrderLock,
}

/// As many lanes as this outbox has on Postgres.
const LANES: Lanes = Lanes::new(64).unwrap();

/// What was saved.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Saving {
    pub(crate) messages: u64,
    pub(crate) seconds: f64,
}

/// The plain tables; `fill` of a database for this outbox does not make them.
const TABLES: &str = "CREATE TABLE plain_message (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    message_id text NOT NULL,
    topic text NOT NULL,
    key text,
    payload bytea NOT NULL
  );
  CREATE TABLE plain_message_of_lane (LIKE plain_message INCLUDING IDENTITY, lane smallint, PRIMARY KEY (lane, id))";

pub(crate) async fn run(args: Args) -> Result {
    let pool = PgPoolOptions::new()
        .max_connections(args.writers)
        .min_connections(args.writers)
        .connect(&args.url)
        .await?;
    sqlx::raw_sql(TABLES).execute(&pool).await?;
    let config = PostgresConfig {
        wake_up: if args.how == How::WakeUp {
            WakeUp::Notify
        } else {
            WakeUp::Poll
        },
        ..PostgresConfig::default()
    };
    let store = Arc::new(PostgresStore::open_with(pool.clone(), config).await?);
    told::ready()?;
    let began = Instant::now();
    let end = began + Duration::from_secs(args.seconds);
    let mut work = tokio::task::JoinSet::new();
    for writer in 0..args.writers {
        let (pool, store) = (pool.clone(), Arc::clone(&store));
        let (how, per) = (args.how, args.per_transaction);
        work.spawn(async move {
            let mut saved = 0_u64;
            let mut connection = pool.acquire().await?;
            while Instant::now() < end {
                let mut tx = sqlx::Connection::begin(&mut *connection).await?;
                let messages = messages(writer, saved, per)?;
                match how {
                    How::Insert => insert(&mut tx, &messages).await?,
                    How::InsertIntoLanes => insert_into_lanes(&mut tx, &messages).await?,
                    _ => save(&store, &mut tx, &messages, how).await?,
                }
                tx.commit().await?;
                saved += u64::from(per);
            }
            Result::Ok(saved)
        });
    }
    let mut messages = 0;
    while let Some(saved) = work.join_next().await {
        messages += saved??;
    }
    let seconds = began.elapsed().as_secs_f64();
    told::done(1)?;
    told::end(&Saving { messages, seconds })?;
    told::until_end().await;
    Ok(())
}

fn messages(writer: u32, saved: u64, per: u32) -> Result<Vec<Message>> {
    (0..per)
        .map(|n| {
            let number = saved + u64::from(n);
            let payload = format!("{number} {}", "x".repeat(190));
            let key = format!("order-{}", (number * 16 + u64::from(writer)) % 5_000);
            Ok(Message::new(TOPIC, payload)?.with_key(key)?)
        })
        .collect()
}

async fn insert(tx: &mut PgConnection, messages: &[Message]) -> Result {
    let query = if messages.len() == 1 {
        "INSERT INTO plain_message (message_id, topic, key, payload) VALUES ($1, $2, $3, $4)"
    } else {
        "INSERT INTO plain_message (message_id, topic, key, payload)
         SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[])"
    };
    parts_of(messages, query).execute(tx).await?;
    Ok(())
}

async fn insert_into_lanes(tx: &mut PgConnection, messages: &[Message]) -> Result {
    let lanes: Vec<Option<i16>> = messages.iter().map(lane_of).collect();
    let query = if messages.len() == 1 {
        "INSERT INTO plain_message_of_lane (message_id, topic, key, payload, lane)
         VALUES ($1, $2, $3, $4, $5)"
    } else {
        "INSERT INTO plain_message_of_lane (message_id, topic, key, payload, lane)
         SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::smallint[])"
    };
    let query = parts_of(messages, query);
    match lanes[..] {
        [lane] => query.bind(lane),
        _ => query.bind(lanes),
    }
    .execute(tx)
    .await?;
    Ok(())
}

type Query<'q> = sqlx::query::Query<'q, Postgres, PgArguments>;

/// Binds the parts of one message, or arrays of those of many.
fn parts_of<'q>(messages: &'q [Message], query: &'static str) -> Query<'q> {
    let key = |message: &'q Message| message.key.as_ref().map(PartitionKey::as_str);
    let query = sqlx::query(query);
    if let [one] = messages {
        return query
            .bind(one.id.as_str())
            .bind(one.topic.as_str())
            .bind(key(one))
            .bind(&one.payload[..]);
    }
    let ids: Vec<&str> = messages.iter().map(|it| it.id.as_str()).collect();
    let topics: Vec<&str> = messages.iter().map(|it| it.topic.as_str()).collect();
    let keys: Vec<Option<&str>> = messages.iter().map(key).collect();
    let payloads: Vec<&[u8]> = messages.iter().map(|it| &it.payload[..]).collect();
    query.bind(ids).bind(topics).bind(keys).bind(payloads)
}

/// One of 64, as this outbox does.
fn lane_of(message: &Message) -> Option<i16> {
    let lane = message.ordering_key()?.lane(LANES);
    i16::try_from(lane.0).ok()
}

async fn save(
    store: &PostgresStore,
    tx: &mut PgConnection,
    messages: &[Message],
    how: How,
) -> Result {
    let order = if how == How::OrderLock {
        SaveOrder::Commit
    } else {
        SaveOrder::Position
    };
    let save = |message| Save {
        order,
        ..Save::from(message)
    };
    if let [one] = messages {
        store.save(tx, save(one)).await?;
    } else {
        let saves: Vec<Save<'_>> = messages.iter().map(save).collect();
        store.save_all(tx, &saves).await?;
    }
    Ok(())
}
