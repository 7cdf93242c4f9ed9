//! Connections of diesel-async for the tests, told apart from those of other tests by the name of their schema's application.

use diesel_async::{
    AsyncPgConnection,
    pooled_connection::{
        AsyncDieselConnectionManager, ManagerConfig, RecyclingMethod, deadpool::Pool,
    },
};

use crate::schema::TestSchema;

/// How to reach the server of the tests, as a session of this test.
pub(crate) fn url(schema: &TestSchema) -> String {
    let server = std::env::var("OUTBOX_TEST_POSTGRES").unwrap_or_else(|_| {
        panic!("OUTBOX_TEST_POSTGRES names no database: run `cargo xtask test`, which finds or starts a server")
    });
    let separator = if server.contains('?') { '&' } else { '?' };
    format!("{server}{separator}application_name={}", schema.application)
}

pub(crate) fn pool(schema: &TestSchema, max_size: usize) -> Pool<AsyncPgConnection> {
    let mut config = ManagerConfig::default();
    config.recycling_method = RecyclingMethod::Fast;
    let manager = AsyncDieselConnectionManager::new_with_config(url(schema), config);
    Pool::builder(manager).max_size(max_size).build().unwrap()
}
