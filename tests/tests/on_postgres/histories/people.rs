//! Writers and the operator of a history.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use outbox::{
    Key, Save,
    store::{DeadPayload, Due, OutboxOperator, OutboxStore},
};
use outbox_ordering::history::{Line, What};

use super::{World, page};
use crate::{dice::Dice, doors::Door, shop::message};

/// The keys of all histories: the first three share a lane.
pub(super) const KEYS: [&str; 5] = ["key-0", "key-65", "key-207", "key-1", "key-2"];

const TRANSACTIONS: usize = 20;

/// What an operator does at least.
const DEEDS: usize = 25;

/// Saves messages in transactions that stay open for a while, some of which are rolled back.
pub(super) async fn write<W: Door, S: OutboxStore + OutboxOperator>(
    world: Arc<World<S>>,
    writer: W::Writer,
    name: usize,
) {
    let mut dice = Dice::new(world.seed, 1 + name as u64);
    let mut saved = 0;
    for _ in 0..TRANSACTIONS {
        let mut tx = W::begin(&writer).await;
        let mut ids = Vec::new();
        for _ in 0..=dice.below(4) {
            saved += 1;
            let id = format!("{}-{name}.{saved}", world.seed);
            let key = (!dice.percent(15)).then(|| KEYS[dice.below(KEYS.len())]);
            let message = message(Key::from(key), &id);
            let due = dice.percent(20).then(|| later(&mut dice));
            let save = Save {
                due: due.map(Due::After),
                ..Save::from(&message)
            };
            let position = W::save(&writer, &mut tx, save).await;
            let line = due.map_or(Line::AtOnce, |_| Line::Later);
            world.record.saved(&message, position, line);
            pause(&mut dice).await;
            ids.push(id);
        }
        let commit = !dice.percent(15);
        let begun = world.record.now();
        if commit {
            world.fates.lock().unwrap().committed.extend(ids.clone());
        }
        W::end(tx, commit).await;
        for message in ids.into_iter().filter(|_| commit) {
            world.record.since(begun, What::Committed { message });
        }
        pause(&mut dice).await;
    }
    world.writing.fetch_sub(1, Ordering::SeqCst);
}

/// A few milliseconds, or an hour.
pub(super) fn later(dice: &mut Dice) -> Duration {
    if dice.percent(50) {
        Duration::from_hours(1)
    } else {
        Duration::from_millis(1 + dice.below(10) as u64)
    }
}

/// Lets the others go on for a while.
pub(super) async fn pause(dice: &mut Dice) {
    for _ in 0..dice.below(30) {
        tokio::task::yield_now().await;
    }
}

/// Redrives, discards, retries, and lets time pass, as long as the writers write and some times at least.
pub(super) async fn operate<S: OutboxStore + OutboxOperator>(world: Arc<World<S>>) {
    let mut dice = Dice::new(world.seed, 3);
    let mut deeds = 0;
    while deeds < DEEDS || !world.is_over() {
        deeds += 1;
        match dice.below(8) {
            0 | 1 => {
                let nth = dice.below(3);
                redrive_one(&*world, nth).await;
            }
            2 => discard_one(&world).await,
            3 | 4 => {
                let key = KEYS[dice.below(KEYS.len())];
                let key = message(key, "x").ordering_key().unwrap();
                world.operator.retry_now(&key).await.unwrap();
            }
            5 => world.fall_due().await,
            6 => {
                world.operator.status().await.unwrap();
            }
            _ => {
                world.store.maintain().await.unwrap();
            }
        }
        pause(&mut dice).await;
    }
}

/// Redrives the dead letter in this place from the first on. `false` if there is none.
pub(super) async fn redrive_one<S: OutboxStore + OutboxOperator>(
    world: &World<S>,
    nth: usize,
) -> bool {
    let Some(id) = dead_letter(world, nth).await else {
        return false;
    };
    let begun = world.record.now();
    let stepped = world.operator.redrive(&page(Some(&id), 1)).await.unwrap();
    assert_eq!(stepped.count, 1);
    let what = What::Redriven {
        message: id,
        position: i64::MAX,
    };
    world.record.since(begun, what);
    true
}

async fn discard_one<S: OutboxStore + OutboxOperator>(world: &World<S>) {
    let Some(id) = dead_letter(world, 0).await else {
        return;
    };
    let begun = world.record.now();
    let stepped = world.operator.discard(&page(Some(&id), 1)).await.unwrap();
    assert_eq!(stepped.count, 1);
    world.fates.lock().unwrap().discarded.insert(id.clone());
    world.record.since(begun, What::Discarded { message: id });
}

async fn dead_letter<S: OutboxStore + OutboxOperator>(
    world: &World<S>,
    nth: usize,
) -> Option<String> {
    let page = page(None, 10);
    let letters = world.operator.dead_letters(&page, DeadPayload::Omit).await;
    let letters = letters.unwrap();
    Some(letters.get(nth)?.id.clone())
}
