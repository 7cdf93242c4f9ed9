//! Saving in transactions of their own, whatever the store is.

use outbox::{
    Message, Save, SaveError, postgres_sqlx::PostgresStore, sqlite::SqliteStore,
    store::OutboxWriter,
};

use crate::Result;

/// A store whose pool saves: each call is one transaction.
pub(crate) trait Commit: Clone + Send + Sync + 'static {
    /// Saves messages and commits.
    fn commit(&self, messages: &[Message]) -> impl Future<Output = Result> + Send;
}

impl Commit for PostgresStore {
    async fn commit(&self, messages: &[Message]) -> Result {
        let mut tx = self.pool().begin().await?;
        save(self, &mut *tx, messages).await?;
        Ok(tx.commit().await?)
    }
}

impl Commit for SqliteStore {
    async fn commit(&self, messages: &[Message]) -> Result {
        let mut tx = self.pool().begin_with("BEGIN IMMEDIATE").await?;
        save(self, &mut *tx, messages).await?;
        Ok(tx.commit().await?)
    }
}

async fn save<C: Send>(
    store: &impl OutboxWriter<C>,
    tx: &mut C,
    messages: &[Message],
) -> std::result::Result<(), SaveError> {
    if let [one] = messages {
        store.save(tx, one.into()).await?;
    } else {
        let saves: Vec<Save<'_>> = messages.iter().map(Save::from).collect();
        store.save_all(tx, &saves).await?;
    }
    Ok(())
}
