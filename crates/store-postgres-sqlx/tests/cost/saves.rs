//! P1: how many statements saves and renewals take, whatever their size.

use std::time::Duration;

use outbox_store::{OutboxStore, Save, SaveOrder};
use outbox_store_postgres::{Database, Text, Transaction, save, save_all};
use outbox_store_postgres_sqlx::{Connection, PgDatabase, WakeUp};

use crate::{
    counting::{Counting, Notes, Run},
    counts::run,
    place::Place,
    scratch::{Keys, Scratch, messages},
};

/// Saves in a transaction of its own, a single message by itself, and tells what that ran.
async fn saving(scratch: &Scratch, saves: &[Save<'_>]) -> Run {
    let notes = Notes::default();
    let database = Counting {
        inner: PgDatabase::new(scratch.place.pool.clone(), Connection::Direct, WakeUp::Poll),
        notes: notes.clone(),
    };
    let (statements, config) = (scratch.counted.statements(), scratch.counted.config());
    let mut tx = database.begin(&Text::from("BEGIN")).await.unwrap();
    if let [single] = saves {
        save(&mut tx, statements, config, *single).await.unwrap();
    } else {
        save_all(&mut tx, statements, config, saves).await.unwrap();
    }
    tx.commit().await.unwrap();
    notes.take(statements)
}

#[tokio::test]
async fn p1_a_save_costs_one_statement_for_any_number_of_messages() {
    let scratch = Scratch::new(Place::schema().await).await;
    let once = Some(Duration::from_mins(1));
    for (once, order, single, several) in [
        (None, SaveOrder::Position, &["save"][..], &["save_now"][..]),
        (once, SaveOrder::Position, &["save_all"], &["save_all"]),
        (
            None,
            SaveOrder::Commit,
            &["lock_order", "save"],
            &["lock_order", "save_now"],
        ),
    ] {
        for size in [1, 2, 10, 100, 500] {
            let messages = messages(size, Keys::Many);
            let save = |message| Save {
                once,
                order,
                ..Save::from(message)
            };
            let saves: Vec<_> = messages.iter().map(save).collect();
            let expected = run(if size == 1 { single } else { several });
            let ran = saving(&scratch, &saves).await;
            assert_eq!(ran, expected, "{once:?}, {order:?}, {size}");
        }
    }
}

#[tokio::test]
async fn p1_a_renewal_costs_one_statement_whatever_is_held() {
    for size in [1, 10, 100, 500] {
        let scratch = Scratch::new(Place::schema().await).await;
        scratch.save(&messages(size, Keys::Many)).await;
        let (claim, _) = scratch.claim(size).await;
        let tokens = claim.lanes.iter().map(|lease| lease.token.clone());
        let tokens: Vec<_> = tokens.collect();
        let lease = Duration::from_secs(30);
        assert_eq!(scratch.counted.extend(&tokens, lease).await.unwrap(), []);
        assert_eq!(scratch.run(), run(&["extend"]), "{size}");
    }
}
