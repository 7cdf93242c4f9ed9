//! A statement as a query of diesel: any text with any parameters, answered by rows of any shape. Both doors run it.

use bytes::Bytes;
use diesel::{
    QueryResult,
    deserialize::{self, QueryableByName},
    pg::{Pg, PgValue},
    query_builder::{AstPass, Query, QueryFragment, QueryId},
    row::{Field, NamedRow},
    sql_types::{Array, BigInt, Binary, Bool, Nullable, Text as SqlText, Untyped},
};
use outbox_store_postgres::{Cell, Connection, Row, Text, Value};

/// A statement with its parameters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Statement<'q> {
    pub(crate) text: &'q Text,
    pub(crate) values: &'q [Value<'q>],
    /// Whether the connection may keep it prepared.
    pub(crate) connection: Connection,
}

impl QueryFragment<Pg> for Statement<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        if self.connection == Connection::Pooler {
            out.unsafe_to_cache_prepared();
        }
        out.push_sql(self.text);
        for value in self.values {
            match value {
                Value::Int(int) => out.push_bind_param_value_only::<BigInt, _>(int)?,
                Value::MaybeInt(int) => {
                    out.push_bind_param_value_only::<Nullable<BigInt>, _>(int)?;
                }
                Value::Flag(flag) => out.push_bind_param_value_only::<Bool, _>(flag)?,
                Value::Text(text) => {
                    out.push_bind_param_value_only::<Nullable<SqlText>, _>(text)?;
                }
                Value::Bytes(bytes) => out.push_bind_param_value_only::<Binary, _>(*bytes)?,
                Value::Ints(ints) => {
                    out.push_bind_param_value_only::<Array<BigInt>, _>(*ints)?;
                }
                Value::MaybeInts(ints) => {
                    out.push_bind_param_value_only::<Array<Nullable<BigInt>>, _>(*ints)?;
                }
                Value::Flags(flags) => {
                    out.push_bind_param_value_only::<Array<Bool>, _>(*flags)?;
                }
                Value::Texts(texts) => {
                    out.push_bind_param_value_only::<Array<Nullable<SqlText>>, _>(*texts)?;
                }
                Value::ManyBytes(bytes) => {
                    out.push_bind_param_value_only::<Array<Binary>, _>(*bytes)?;
                }
            }
        }
        Ok(())
    }
}

/// Kept statements are found by their text.
impl QueryId for Statement<'_> {
    type QueryId = ();

    const HAS_STATIC_QUERY_ID: bool = false;
}

impl Query for Statement<'_> {
    type SqlType = Untyped;
}

#[cfg(feature = "sync")]
impl diesel::RunQueryDsl<diesel::PgConnection> for Statement<'_> {}

/// One row of an answer.
#[derive(Debug)]
pub(crate) struct Answer(Vec<Cell>);

impl From<Answer> for Row {
    fn from(answer: Answer) -> Self {
        Self::new(answer.0)
    }
}

/// By place, whatever the names.
impl QueryableByName<Pg> for Answer {
    fn build<'a>(row: &impl NamedRow<'a, Pg>) -> deserialize::Result<Self> {
        (0..row.field_count())
            .map(|place| {
                let field = diesel::row::Row::get(row, place);
                let value = field.as_ref().and_then(Field::value);
                value.map_or(Ok(Cell::Null), cell)
            })
            .collect::<deserialize::Result<Vec<Cell>>>()
            .map(Self)
    }
}

/// The types that statements answer, by their fixed numbers in `pg_type`.
mod oid {
    pub(super) const BOOL: u32 = 16;
    pub(super) const BYTEA: u32 = 17;
    pub(super) const NAME: u32 = 19;
    pub(super) const INT8: u32 = 20;
    pub(super) const INT2: u32 = 21;
    pub(super) const INT4: u32 = 23;
    pub(super) const TEXT: u32 = 25;
    pub(super) const JSON: u32 = 114;
    pub(super) const VARCHAR: u32 = 1043;
}

fn cell(value: PgValue<'_>) -> deserialize::Result<Cell> {
    let bytes = value.as_bytes();
    let cell = match value.get_oid().get() {
        oid::BOOL => Cell::Flag(bytes != [0]),
        oid::INT2 => Cell::Int(i16::from_be_bytes(bytes.try_into()?).into()),
        oid::INT4 => Cell::Int(i32::from_be_bytes(bytes.try_into()?).into()),
        oid::INT8 => Cell::Int(i64::from_be_bytes(bytes.try_into()?)),
        oid::BYTEA | oid::NAME | oid::TEXT | oid::JSON | oid::VARCHAR => {
            Cell::Bytes(Bytes::copy_from_slice(bytes))
        }
        other => return Err(format!("a statement answered type {other}").into()),
    };
    Ok(cell)
}
