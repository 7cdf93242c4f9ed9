//! The version of the schema: brought up to date by `migrate`, and checked when a store is opened. How a connection is come by, and how the transaction
//! is begun and committed, is the caller's.

use outbox_migrations::{POSTGRES, SchemaName};
use outbox_store::StoreError;

use crate::{
    failure::{Failure, require},
    procedure::{Procedure, query},
    row::UnexpectedRow,
    session::{Database, Session, Text},
    statements::Statements,
    store::Relaying,
};

/// The oldest server that the statements run on, as `server_version_num` tells it.
const OLDEST_SERVER: i64 = 130_000;

/// Completes "the database did not ..." for [`migrate`].
pub const MIGRATE: &str = "bring the schema up to date";

/// Creates or updates the tables in the open transaction of `session`, which [`Statements::begin_migration`] began. Of several at once one
/// works and the others find it done.
///
/// # Errors
///
/// [`Failure::Unusable`] if the server cannot hold an outbox, [`Failure::Schema`] if the schema is newer than this program, and what the driver says. The
/// transaction is to be rolled back then.
pub async fn migrate<S: Session>(
    session: &mut S,
    statements: &Statements,
    schema: &SchemaName,
) -> Result<(), Failure<S::Error>> {
    check_server(session, statements).await?;
    query(session, &statements.schema_lock, &[]).await?;
    let mut exists = one(session, &statements.schema_exists).await?;
    // Asking for a schema that exists would need the right to create schemas.
    if !exists.flag()? {
        session
            .batch(&schema.create())
            .await
            .map_err(Failure::Driver)?;
    }
    let found = version(session, statements).await?;
    if found > POSTGRES.version() {
        return Err(Failure::Schema(found));
    }
    for migration in POSTGRES.migrations.iter().filter(|m| m.version > found) {
        let sql = schema.apply(migration.sql);
        session.batch(&sql).await.map_err(Failure::Driver)?;
    }
    Ok(())
}

/// Refuses a server that cannot hold an outbox, and a schema of any version but the one that this program knows.
///
/// # Errors
///
/// [`Failure::Unusable`], [`Failure::Schema`], and what the driver says.
pub async fn check<S: Session>(
    session: &mut S,
    statements: &Statements,
) -> Result<(), Failure<S::Error>> {
    check_server(session, statements).await?;
    require(version(session, statements).await?)
}

/// The version found; 0 when there is no schema.
async fn version<S: Session>(
    session: &mut S,
    statements: &Statements,
) -> Result<i64, Failure<S::Error>> {
    let mut exists = one(session, &statements.schema_exists).await?;
    let (has_schema, has_version) = (exists.flag()?, exists.flag()?);
    if !(has_schema && has_version) {
        return Ok(0);
    }
    let mut row = one(session, &statements.schema_version).await?;
    Ok(row.int()?)
}

async fn check_server<S: Session>(
    session: &mut S,
    statements: &Statements,
) -> Result<(), Failure<S::Error>> {
    let mut row = one(session, &statements.schema_server).await?;
    let version = row.int()?;
    let encoding = row.shown()?.unwrap_or_default();
    if version < OLDEST_SERVER {
        return Err(Failure::Unusable {
            problem: format!("the server has version number {version}"),
            hint: "use PostgreSQL 13 or later",
        });
    }
    if encoding != "UTF8" {
        return Err(Failure::Unusable {
            problem: format!("the database has the encoding {encoding}"),
            hint: "use a database in UTF8",
        });
    }
    Ok(())
}

async fn one<S: Session>(session: &mut S, text: &Text) -> Result<crate::Row, Failure<S::Error>> {
    let rows = query(session, text, &[]).await?;
    Ok(rows.into_iter().next().ok_or(UnexpectedRow("a row"))?)
}

impl Statements {
    /// How the transaction of [`migrate`] begins.
    pub fn begin_migration(&self) -> &Text {
        &self.begin_migration
    }
}

struct Migrate<'a>(&'a SchemaName);

impl Procedure for Migrate<'_> {
    type Output = ();

    const WHAT: &'static str = MIGRATE;

    fn begin<'s>(&self, statements: &'s Statements) -> &'s Text {
        &statements.begin_migration
    }

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<(), Failure<S::Error>> {
        migrate(session, statements, self.0).await
    }
}

struct Check;

impl Procedure for Check {
    type Output = ();

    const WHAT: &'static str = "read its schema version";

    /// It changes nothing, so a standby can be looked at too.
    fn begin<'s>(&self, statements: &'s Statements) -> &'s Text {
        &statements.begin_read
    }

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<(), Failure<S::Error>> {
        check(session, statements).await
    }
}

impl<D: Database> Relaying<D> {
    /// Creates or updates the tables, in one transaction. Doing it again, or by several processes at once, does nothing more.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unusable`] if the server cannot hold an outbox, [`StoreError::Schema`] if the schema is newer than this program,
    /// [`StoreError::Database`] for what else the database said; nothing is half done then.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        self.run(Migrate(&self.config.schema)).await
    }

    /// Refuses a server that cannot hold an outbox, and a schema of any version but the one that this program knows. It changes nothing.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unusable`], [`StoreError::Schema`], and [`StoreError::Database`] for what else the database said.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.run(Check).await
    }
}
