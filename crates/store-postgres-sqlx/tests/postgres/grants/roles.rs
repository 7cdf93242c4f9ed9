//! A database with the three roles that the page makes, by the very statements that stand there.

use std::{fs, path::Path, thread};

use outbox_store_postgres_sqlx::{PostgresConfig, PostgresStore};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, PgConnection, PgPool};

use crate::schema::{pool, server};

/// The roles of the page. Names of roles are known in all databases of a server, so here they have a number.
const ROLES: [&str; 3] = ["outbox_writer", "outbox_relay", "outbox_reader"];

/// The database and its roles, which go with this.
pub(super) struct Roles {
    number: String,
    /// Whoever migrated, and owns the tables.
    pub(super) owner: PgPool,
}

impl Roles {
    pub(super) async fn new() -> Self {
        let number = format!("{:016x}", rand::random::<u64>());
        let mut connection = server().connect().await.unwrap();
        let create = format!("CREATE DATABASE \"outbox_{number}\"");
        connection
            .execute(sqlx::raw_sql(AssertSqlSafe(create)))
            .await
            .unwrap();
        let owner = pool(server().database(&format!("outbox_{number}")));
        let roles = Self { number, owner };
        PostgresStore::migrate(&roles.owner).await.unwrap();
        let grants = roles.with_number(&grants_of_the_page());
        let granted = roles.owner.execute(sqlx::raw_sql(AssertSqlSafe(grants)));
        granted.await.unwrap();
        roles
    }

    fn with_number(&self, sql: &str) -> String {
        ROLES.iter().fold(sql.to_owned(), |sql, role| {
            sql.replace(role, &format!("{role}_{}", self.number))
        })
    }

    /// Sessions that may do what this role may, and no more.
    pub(super) fn pool(&self, role: &str) -> PgPool {
        let role = self.with_number(role);
        let database = format!("outbox_{}", self.number);
        pool(server().database(&database).options([("role", role)]))
    }

    /// A store that may do what this role may.
    pub(super) async fn store(&self, role: &str, config: PostgresConfig) -> PostgresStore {
        let store = PostgresStore::open_with(self.pool(role), config).await;
        store.unwrap()
    }
}

impl Drop for Roles {
    /// The runtime of a test may be on its way out.
    fn drop(&mut self) {
        let drop = format!("DROP DATABASE \"outbox_{}\" WITH (FORCE)", self.number);
        let roles = self.with_number(&format!("DROP ROLE {}", ROLES.join(", ")));
        let cleaned = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(clean_up([drop, roles])).ok();
        });
        cleaned.join().ok();
    }
}

async fn clean_up(statements: [String; 2]) -> Result<(), sqlx::Error> {
    let mut connection: PgConnection = server().connect().await?;
    for statement in statements {
        connection
            .execute(sqlx::raw_sql(AssertSqlSafe(statement)))
            .await?;
    }
    connection.close().await
}

/// The statements of the page's section.
fn grants_of_the_page() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/postgres.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("\n## Roles and grants\n").unwrap();
    let (_, code) = section.split_once("\n```sql\n").unwrap();
    let (code, _) = code.split_once("\n```\n").unwrap();
    assert!(ROLES.iter().all(|role| code.contains(role)));
    code.to_owned()
}
