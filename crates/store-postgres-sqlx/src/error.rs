//! The driver's error, as the shared store sees it.

use std::{error::Error, fmt};

use outbox_store_postgres::DriverError;
use sqlx::postgres::PgDatabaseError;

/// An error of sqlx: what [`SaveError`](outbox_store::SaveError) and [`StoreError`](outbox_store::StoreError) have as their source.
#[derive(Debug)]
pub struct SqlxError(pub sqlx::Error);

impl fmt::Display for SqlxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for SqlxError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

impl From<sqlx::Error> for SqlxError {
    fn from(error: sqlx::Error) -> Self {
        Self(error)
    }
}

impl DriverError for SqlxError {
    fn sqlstate(&self) -> Option<&str> {
        let answer = self.0.as_database_error()?;
        Some(answer.try_downcast_ref::<PgDatabaseError>()?.code())
    }
}
