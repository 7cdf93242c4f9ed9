//! One statement on a connection: parameters bound by their kind, rows read as cells. Nothing here begins or ends a transaction.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;
use outbox_store_postgres::{Cell, Connection, Row, Session, Text, Value};
use sqlx::{
    AssertSqlSafe, Column, Decode, PgConnection, Postgres, Row as _, SqlSafeStr, SqlStr, TypeInfo,
    postgres::{PgArguments, PgRow},
    query::Query,
};

use crate::error::SqlxError;

/// The connection of a caller. Its transaction is the caller's too.
#[derive(Debug)]
pub(crate) struct Borrowed<'c> {
    pub(crate) connection: &'c mut PgConnection,
    pub(crate) mode: Connection,
}

impl Session for Borrowed<'_> {
    type Error = SqlxError;

    // The driver reads what is left of a statement whose future was dropped before it sends the next one.
    async fn query<'a>(
        &'a mut self,
        text: &'a Text,
        values: &'a [Value<'a>],
    ) -> Result<Vec<Row>, SqlxError> {
        Ok(query(self.connection, self.mode, text, values).await?)
    }

    async fn batch<'a>(&'a mut self, text: &'a str) -> Result<(), SqlxError> {
        Ok(batch(self.connection, text).await?)
    }
}

/// The text of a statement, for the driver. It is static but for the name of the schema, which is checked and quoted.
fn sql(text: Text) -> SqlStr {
    AssertSqlSafe(text).into_sql_str()
}

/// Runs several statements in one text, without parameters.
pub(crate) async fn batch(connection: &mut PgConnection, text: &str) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(sql(Text::from(text)))
        .execute(connection)
        .await?;
    Ok(())
}

/// Runs a statement and reads all its rows, one at a time, so that no more of them than one is held twice.
pub(crate) async fn query(
    connection: &mut PgConnection,
    mode: Connection,
    text: &Text,
    values: &[Value<'_>],
) -> Result<Vec<Row>, sqlx::Error> {
    let statement = values.iter().fold(sqlx::query(sql(Arc::clone(text))), bind);
    let mut answer = statement
        .persistent(mode == Connection::Direct)
        .fetch(connection);
    let mut rows = Vec::new();
    while let Some(row) = answer.try_next().await? {
        rows.push(cells(&row));
    }
    Ok(rows)
}

type Statement<'q> = Query<'q, Postgres, PgArguments>;

fn bind<'q>(statement: Statement<'q>, value: &Value<'_>) -> Statement<'q> {
    match *value {
        Value::Int(value) => statement.bind(value),
        Value::MaybeInt(value) => statement.bind(value),
        Value::Flag(value) => statement.bind(value),
        Value::Text(value) => statement.bind(value),
        Value::Bytes(value) => statement.bind(value),
        Value::Ints(values) => statement.bind(values),
        Value::MaybeInts(values) => statement.bind(values),
        Value::Flags(values) => statement.bind(values),
        Value::Texts(values) => statement.bind(values),
        Value::ManyBytes(values) => statement.bind(values),
    }
}

fn cells(row: &PgRow) -> Row {
    Row::new((0..row.len()).map(|at| cell(row, at)).collect())
}

/// What cannot be told apart by its type is bytes.
fn cell(row: &PgRow, at: usize) -> Cell {
    let Ok(value) = row.try_get_raw(at) else {
        return Cell::Null;
    };
    let Ok(bytes) = value.as_bytes() else {
        return Cell::Null;
    };
    let known = match row.column(at).type_info().name() {
        "BOOL" => <bool as Decode<Postgres>>::decode(value)
            .ok()
            .map(Cell::Flag),
        "INT2" | "INT4" | "INT8" => {
            let number = <i64 as Decode<Postgres>>::decode(value);
            number.ok().map(Cell::Int)
        }
        _ => None,
    };
    known.unwrap_or_else(|| Cell::Bytes(Bytes::copy_from_slice(bytes)))
}

#[cfg(test)]
mod tests {
    use sqlx::Connection as _;

    use super::*;

    async fn ask(text: &str, values: &[Value<'_>]) -> String {
        let url = std::env::var("OUTBOX_TEST_POSTGRES").expect("run `cargo xtask test`");
        let mut connection = PgConnection::connect(&url).await.expect("a server");
        let mut session = Borrowed {
            connection: &mut connection,
            mode: Connection::Direct,
        };
        let rows = session.query(&Text::from(text), values).await;
        format!("{:?}", rows.expect("the server answers"))
    }

    fn answer(cells: Vec<Cell>) -> String {
        format!("{:?}", [Row::new(cells)])
    }

    fn bytes(text: &'static str) -> Cell {
        Cell::Bytes(Bytes::from_static(text.as_bytes()))
    }

    #[tokio::test]
    async fn every_type_that_statements_answer_is_a_cell() {
        let got = ask(
            r#"SELECT (-2)::smallint, 3::integer, (-4)::bigint, true, false, 'text'::text, 'name'::name,
                 '{"a": [1]}'::json, '\x00ff'::bytea, ''::text, NULL::bigint, NULL::boolean, NULL::bytea"#,
            &[],
        );
        let expected = vec![
            Cell::Int(-2),
            Cell::Int(3),
            Cell::Int(-4),
            Cell::Flag(true),
            Cell::Flag(false),
            bytes("text"),
            bytes("name"),
            bytes(r#"{"a": [1]}"#),
            Cell::Bytes(Bytes::from_static(b"\x00\xff")),
            bytes(""),
            Cell::Null,
            Cell::Null,
            Cell::Null,
        ];
        assert_eq!(got.await, answer(expected));
    }

    #[tokio::test]
    async fn every_kind_of_parameter_reaches_the_server_as_it_is() {
        let values = [
            Value::Int(i64::MIN),
            Value::MaybeInt(None),
            Value::Flag(true),
            Value::Text(Some("größe")),
            Value::Text(None),
            Value::Bytes(b"\x00\xff"),
            Value::Ints(&[1, 2]),
            Value::MaybeInts(&[Some(1), None]),
            Value::Flags(&[true, false]),
            Value::Texts(&[Some("a,\"b"), None]),
            Value::ManyBytes(&[b"", b"\x00"]),
        ];
        let got = ask(
            "SELECT $1::bigint, $2::bigint, $3::boolean, $4::text, $5::text, $6::bytea,
               $7::bigint[]::text, $8::bigint[]::text, $9::boolean[]::text, $10::text[]::text, $11::bytea[]::text",
            &values,
        );
        let expected = vec![
            Cell::Int(i64::MIN),
            Cell::Null,
            Cell::Flag(true),
            bytes("größe"),
            Cell::Null,
            Cell::Bytes(Bytes::from_static(b"\x00\xff")),
            bytes("{1,2}"),
            bytes("{1,NULL}"),
            bytes("{t,f}"),
            bytes(r#"{"a,\"b",NULL}"#),
            bytes(r#"{"\\x","\\x00"}"#),
        ];
        assert_eq!(got.await, answer(expected));
    }
}
