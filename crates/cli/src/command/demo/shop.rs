//! The business of the demo: a table of customers and one of purchases, beside the outbox. The statements are the same for every database.

use super::stage::Stage;
use crate::{
    failure::Failure,
    store::{Tx, explain},
};

/// Purchases of a customer are numbered. Whoever draws a number holds the customer until the end of the transaction, so that the order of the numbers
/// is that of the commits.
const CUSTOMERS: &str = "create table customer (name text primary key, purchases bigint not null)";

const PURCHASES: &str = "
    create table purchase (
        message_id text primary key,
        customer text not null,
        number bigint not null,
        payload text not null,
        unique (customer, number)
    )";

const NUMBER: &str = "
    insert into customer (name, purchases) values ($1, 1)
    on conflict (name) do update set purchases = customer.purchases + 1
    returning purchases";

const BUY: &str =
    "insert into purchase (message_id, customer, number, payload) values ($1, $2, $3, $4)";

const ALL: &str = "select message_id, customer, number, payload from purchase";

/// A purchase as the business table has it.
#[derive(Debug, Clone)]
pub(super) struct Purchase {
    pub(super) message_id: String,
    pub(super) customer: String,
    pub(super) number: i64,
    pub(super) payload: String,
}

/// Runs the same on a transaction of either database.
macro_rules! on {
    ($tx:expr, $connection:ident => $run:expr) => {
        match $tx {
            Tx::Sqlite(_, tx) => {
                let $connection = &mut **tx;
                $run
            }
            Tx::Postgres(_, tx) => {
                let $connection = &mut **tx;
                $run
            }
        }
    };
}

/// Makes the tables.
pub(super) async fn open(stage: &Stage) -> Result<(), Failure> {
    let made = async {
        let mut tx = begin(stage).await?;
        for table in [CUSTOMERS, PURCHASES] {
            on!(&mut tx, c => sqlx::query(table).execute(c).await.map(|_| ())?);
        }
        tx.commit().await
    };
    made.await
        .map_err(|error| explain(&error, "the demo cannot make its tables"))
}

/// Begins a transaction that finds the tables.
pub(super) async fn begin(stage: &Stage) -> Result<Tx, sqlx::Error> {
    let mut tx = stage.opened.begin().await?;
    if let Tx::Postgres(_, tx) = &mut tx {
        sqlx::query("select set_config('search_path', $1, true)")
            .bind(stage.schema.quoted())
            .execute(&mut **tx)
            .await?;
    }
    Ok(tx)
}

/// Draws the number of a customer's next purchase.
pub(super) async fn number(tx: &mut Tx, customer: &str) -> Result<i64, sqlx::Error> {
    on!(tx, c => sqlx::query_scalar(NUMBER).bind(customer).fetch_one(c).await)
}

pub(super) async fn buy(tx: &mut Tx, purchase: &Purchase) -> Result<(), sqlx::Error> {
    on!(tx, c => sqlx::query(BUY)
        .bind(&purchase.message_id)
        .bind(&purchase.customer)
        .bind(purchase.number)
        .bind(&purchase.payload)
        .execute(c)
        .await
        .map(|_| ()))
}

/// All purchases whose transaction committed.
pub(super) async fn purchases(stage: &Stage) -> Result<Vec<Purchase>, Failure> {
    let read = async {
        let mut tx = begin(stage).await?;
        on!(&mut tx, c => sqlx::query_as(ALL).fetch_all(c).await)
    };
    let rows: Result<Vec<(String, String, i64, String)>, sqlx::Error> = read.await;
    let rows = rows.map_err(|error| explain(&error, "the business rows cannot be read"))?;
    Ok(rows
        .into_iter()
        .map(|(message_id, customer, number, payload)| Purchase {
            message_id,
            customer,
            number,
            payload,
        })
        .collect())
}
