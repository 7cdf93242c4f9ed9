//! Saving on blocking connections of diesel.

use std::{sync::Barrier, thread};

use diesel::{Connection, PgConnection, connection::SimpleConnection};
use outbox_store::{Save, SaveError, SaveOrder};
use outbox_store_postgres_diesel::{
    PostgresConfig,
    sync::{self, PostgresWriter},
};
use thiserror::Error;

use crate::{pool::url, schema::TestSchema, scratch::message};

/// An application's own error, as a transaction of diesel asks for.
#[derive(Debug, Error)]
enum OrderError {
    #[error(transparent)]
    Database(#[from] diesel::result::Error),
    #[error(transparent)]
    Outbox(#[from] SaveError),
    #[error("no such customer")]
    NoCustomer,
}

struct Scratch {
    writer: PostgresWriter,
    url: String,
    schema: TestSchema,
}

impl Scratch {
    fn new() -> Self {
        let schema = TestSchema::new();
        let url = url(&schema);
        let mut connection = PgConnection::establish(&url).unwrap();
        sync::migrate_with(&mut connection, &schema.name).unwrap();
        let writer = PostgresWriter::new(PostgresConfig {
            schema: schema.name.clone(),
            ..PostgresConfig::default()
        });
        Self {
            writer,
            url,
            schema,
        }
    }

    fn connect(&self) -> PgConnection {
        PgConnection::establish(&self.url).unwrap()
    }
}

// The schema's own pool needs a runtime to be made and dropped; nothing else here does.

#[tokio::test]
async fn a_message_is_saved_with_its_transaction_or_not_at_all() {
    let scratch = Scratch::new();
    let mut connection = scratch.connect();
    let failed: Result<(), OrderError> = connection.transaction(|connection| {
        scratch.writer.save(connection, &message("a"))?;
        Err(OrderError::NoCustomer)
    });
    assert!(matches!(failed, Err(OrderError::NoCustomer)));
    assert_eq!(scratch.writer.pending(&mut connection).unwrap(), []);

    let saved = message("b");
    let done = connection.transaction(|connection| {
        scratch.writer.save_all(connection, &[Save::from(&saved)])?;
        Ok::<_, OrderError>(())
    });
    done.unwrap();
    assert_eq!(scratch.writer.pending(&mut connection).unwrap(), [saved]);
}

#[tokio::test]
async fn a_connection_without_a_transaction_is_refused() {
    let scratch = Scratch::new();
    let refused = scratch.writer.save(&mut scratch.connect(), &message("a"));
    assert!(matches!(refused, Err(SaveError::NoTransaction { .. })));
}

#[tokio::test]
async fn a_deadlock_is_a_conflict_that_can_be_tried_again() {
    let scratch = Scratch::new();
    let barrier = Barrier::new(2);
    let (one, other) = thread::scope(|threads| {
        let one = threads.spawn(|| save_both(&scratch, &barrier, ["a", "b"]));
        let other = threads.spawn(|| save_both(&scratch, &barrier, ["b", "a"]));
        (one.join().unwrap(), other.join().unwrap())
    });
    // The server ends one of them, and the other goes on.
    let failed = match (one, other) {
        (Ok(()), Err(failed)) | (Err(failed), Ok(())) => failed,
        both => panic!("one of both fails: {both:?}"),
    };
    assert!(
        matches!(failed, OrderError::Outbox(SaveError::Conflict(_))),
        "{failed:?}"
    );
}

/// Saves two messages in commit order, the second when both have saved their first.
fn save_both(scratch: &Scratch, barrier: &Barrier, keys: [&str; 2]) -> Result<(), OrderError> {
    let messages = keys.map(message);
    let saves = messages.each_ref().map(|message| Save {
        order: SaveOrder::Commit,
        ..Save::from(message)
    });
    scratch.connect().transaction(|connection| {
        connection.batch_execute("SET LOCAL deadlock_timeout = '10ms'")?;
        scratch.writer.save(connection, saves[0])?;
        barrier.wait();
        scratch.writer.save(connection, saves[1])?;
        Ok(())
    })
}

#[tokio::test]
async fn a_schema_that_is_gone_is_named_as_such() {
    let scratch = Scratch::new();
    let gone = format!("DROP SCHEMA {} CASCADE", scratch.schema.name.quoted());
    scratch.schema.run(&gone).await;
    let refused: Result<(), OrderError> = scratch.connect().transaction(|connection| {
        scratch.writer.save(connection, &message("a"))?;
        Ok(())
    });
    assert!(
        matches!(
            refused,
            Err(OrderError::Outbox(SaveError::Schema { found: 0, .. }))
        ),
        "{refused:?}"
    );
}
