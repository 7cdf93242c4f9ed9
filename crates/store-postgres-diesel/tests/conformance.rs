//! Whatever saves, whatever relays: every pair of diesel's doors with a relay passes the conformance suite of all stores, in a schema of its own for each test.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

#[path = "support/blocking.rs"]
mod blocking;
#[path = "support/doors.rs"]
mod doors;
#[path = "support/function.rs"]
mod function;
#[path = "support/mixed.rs"]
mod mixed;
#[path = "support/pair.rs"]
mod pair;
#[path = "support/pool.rs"]
mod pool;
#[path = "../../store-postgres-sqlx/tests/support/schema.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod schema;

use outbox_store_postgres_diesel::PostgresStore;
use outbox_store_postgres_sqlx::PostgresStore as SqlxStore;

use doors::{AsyncDoor, SqlxDoor, SyncDoor};
use function::FunctionDoor;
use mixed::Mixed;

mod saved_by_diesel_async_and_relayed_by_it {
    use super::*;

    outbox_testkit::conformance!(Mixed<AsyncDoor, PostgresStore>);
}

mod saved_by_diesel_and_relayed_by_sqlx {
    use super::*;

    outbox_testkit::conformance!(Mixed<SyncDoor, SqlxStore>);
}

mod saved_by_sqlx_and_relayed_by_diesel_async {
    use super::*;

    outbox_testkit::conformance!(Mixed<SqlxDoor, PostgresStore>);
}

mod saved_by_the_sql_function_and_relayed_by_sqlx {
    use super::*;

    outbox_testkit::conformance!(Mixed<FunctionDoor, SqlxStore>);
}
