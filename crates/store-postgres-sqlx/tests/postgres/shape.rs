//! The shape of the store, as the compiler sees it: what can be shared and sent, and which ways to write a save infer the connection. The last holds as
//! long as the store has exactly one implementation of the writer.

use std::future::Future;

use outbox_message::Message;
use outbox_store::{OutboxOperator, OutboxStore, OutboxWriter, Save, SaveError, Saved};
use outbox_store_postgres_sqlx::PostgresStore;
use outbox_testkit::saved;

use crate::scratch::{Scratch, message};

fn is_sent<F: Future + Send + 'static>(future: F) -> F {
    future
}

#[test]
fn a_store_is_shared_between_tasks() {
    fn is_shared<T: Clone + Send + Sync + 'static>() {}
    fn is_a_store<S: OutboxStore + OutboxOperator>() {}
    is_shared::<PostgresStore>();
    is_a_store::<PostgresStore>();
}

/// Generic code as an application writes it.
async fn place<S, C>(store: &S, tx: &mut C, message: &Message) -> Result<Saved, SaveError>
where
    S: OutboxWriter<C>,
    C: ?Sized + Send,
{
    store.save(tx, Save::from(message)).await
}

#[tokio::test]
async fn every_way_to_write_a_transaction_infers_its_connection() {
    let scratch = Scratch::new().await;
    let (store, order) = (&scratch.store, message(Some("a"), "1"));
    let mut tx = scratch.pool().begin().await.unwrap();
    store.save(&mut tx, &order).await.unwrap();
    OutboxWriter::save(store, &mut tx, Save::from(&order))
        .await
        .unwrap();
    OutboxWriter::save(store, &mut *tx, Save::from(&order))
        .await
        .unwrap();
    place(store, &mut *tx, &order).await.unwrap();
    assert_eq!(saved(store, &mut *tx).await.unwrap().len(), 4);
    tx.rollback().await.unwrap();
}

#[tokio::test]
async fn a_save_can_be_sent_to_another_task() {
    let scratch = Scratch::new().await;
    let (store, pool) = (scratch.store.clone(), scratch.pool().clone());
    let task = is_sent(async move {
        let mut tx = pool.begin().await.unwrap();
        let order = message(Some("a"), "1");
        store.save(&mut tx, &order).await.unwrap();
        tx.commit().await.unwrap();
    });
    tokio::spawn(task).await.unwrap();
    assert_eq!(scratch.drain().await, [b"1"]);
}
