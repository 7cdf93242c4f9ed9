//! The SQL function `save` as a door: what any program calls that speaks SQL.

use std::time::Duration;

use async_trait::async_trait;
use outbox_message::{MAX_PAYLOAD_BYTES, Message, MessageId, Position};
use outbox_store::{
    Consumer, Due, Handled, InboxWriter, MAX_DELAY, OutboxWriter, Save, SaveError, SaveOrder,
    Saved,
    adapter::{encode_headers, millis},
};
use outbox_store_postgres::PostgresConfig;
use outbox_store_postgres_sqlx::PostgresStore as SqlxStore;
use sqlx::{AssertSqlSafe, PgConnection, Postgres, Transaction};

use crate::{doors::SqlxDoor, mixed::Door, schema::TestSchema};

/// The longest time that an interval is asked for here, in milliseconds: a thousand years.
const LONGEST_MS: i64 = 31_536_000_000_000;

/// The end of the year 9999 in milliseconds since 1970.
const LAST_MS: i64 = 253_402_300_799_999;

/// What the function is called with, by a program that is no Rust at all.
pub(crate) struct Function {
    statement: String,
    handle: String,
    forget: String,
    store: SqlxStore,
}

#[async_trait]
impl OutboxWriter<PgConnection> for Function {
    async fn save(&self, tx: &mut PgConnection, save: Save<'_>) -> Result<Saved, SaveError> {
        let message = save.message;
        check(&save)?;
        let (after, at) = match save.due {
            None => (None, None),
            Some(Due::After(delay)) => (Some(millis(delay.min(MAX_DELAY))), None),
            Some(Due::AtUnixMs(at)) => (None, Some(at.clamp(0, LAST_MS))),
        };
        let saved: Option<i64> = sqlx::query_scalar(AssertSqlSafe(self.statement.as_str()))
            .bind(message.topic.as_str())
            .bind(&message.payload[..])
            .bind(message.key.as_ref().map(AsRef::<str>::as_ref))
            .bind(encode_headers(&message.headers))
            .bind(message.content_type.as_ref().map(AsRef::<str>::as_ref))
            .bind(message.id.as_str())
            .bind(after)
            .bind(at)
            .bind(save.once.map(once))
            .bind(save.order == SaveOrder::Commit)
            .fetch_one(tx)
            .await
            .map_err(|error| SaveError::Database(Box::new(error)))?;
        Ok(saved.map_or(Saved::Duplicate, |position| Saved::New(Position(position))))
    }

    async fn save_all(
        &self,
        tx: &mut PgConnection,
        saves: &[Save<'_>],
    ) -> Result<Vec<Saved>, SaveError> {
        saves.iter().try_for_each(check)?;
        let mut answers = Vec::new();
        for save in saves {
            answers.push(self.save(tx, *save).await?);
        }
        Ok(answers)
    }

    async fn pending(&self, tx: &mut PgConnection) -> Result<Vec<Message>, SaveError> {
        self.store.pending(tx).await
    }
}

/// By plain statements, as the tables allow any program.
#[async_trait]
impl InboxWriter<PgConnection> for Function {
    async fn once(
        &self,
        tx: &mut PgConnection,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<Handled, SaveError> {
        match rows(tx, &self.handle, consumer, id).await? {
            0 => Ok(Handled::Duplicate),
            _ => Ok(Handled::First),
        }
    }

    async fn forget(
        &self,
        tx: &mut PgConnection,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<bool, SaveError> {
        Ok(rows(tx, &self.forget, consumer, id).await? > 0)
    }
}

/// How many rows a statement on one id of the inbox wrote.
async fn rows(
    tx: &mut PgConnection,
    statement: &str,
    consumer: &Consumer,
    id: &MessageId,
) -> Result<u64, SaveError> {
    let done = sqlx::query(AssertSqlSafe(statement))
        .bind(consumer.as_str())
        .bind(id.as_str())
        .execute(tx)
        .await;
    let done = done.map_err(|error| SaveError::Database(Box::new(error)))?;
    Ok(done.rows_affected())
}

/// The function refuses such a payload too, but ends the transaction with it.
fn check(save: &Save<'_>) -> Result<(), SaveError> {
    Ok(save.message.check_payload(MAX_PAYLOAD_BYTES)?)
}

fn once(once: Duration) -> i64 {
    millis(once).clamp(1, LONGEST_MS)
}

pub(crate) struct FunctionDoor(SqlxDoor);

impl Door for FunctionDoor {
    type Writer = Function;
    type Connection = PgConnection;
    type Transaction = Transaction<'static, Postgres>;

    async fn open(schema: &TestSchema, config: PostgresConfig) -> (Self, Function) {
        let (door, store) = SqlxDoor::open(schema, config).await;
        let call = "SELECT outbox.save(
            $1::text, $2::bytea, $3::text, $4::json, $5::text, $6::text,
            coalesce(clock_timestamp() + $7::bigint * interval '1 ms', to_timestamp($8::bigint / 1000.0)),
            $9::bigint * interval '1 ms', $10::boolean)";
        let statement = schema.name.apply(call);
        let handle = "INSERT INTO outbox.inbox (consumer, message_id) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        let forget = "DELETE FROM outbox.inbox WHERE consumer = $1 AND message_id = $2";
        let function = Function {
            statement,
            handle: schema.name.apply(handle),
            forget: schema.name.apply(forget),
            store,
        };
        (Self(door), function)
    }

    async fn begin(&self) -> Transaction<'static, Postgres> {
        self.0.begin().await
    }

    fn connection<'t>(tx: &'t mut Transaction<'static, Postgres>) -> &'t mut PgConnection {
        tx
    }

    async fn commit(&self, tx: Transaction<'static, Postgres>) {
        self.0.commit(tx).await;
    }

    async fn rollback(&self, tx: Transaction<'static, Postgres>) {
        self.0.rollback(tx).await;
    }

    /// Outside of a transaction the function is its own.
    async fn save_outside(&self, _: &Function, _: Save<'_>) -> Option<Result<Saved, SaveError>> {
        None
    }

    /// Outside of a transaction each statement is its own.
    async fn once_outside(
        &self,
        _: &Function,
        _: &Consumer,
        _: &MessageId,
    ) -> Option<Result<Handled, SaveError>> {
        None
    }
}
