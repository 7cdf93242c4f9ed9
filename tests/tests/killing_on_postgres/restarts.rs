//! The server itself goes down while relays publish and writers write, and comes back: in order, and as in a crash.

use std::thread;

use outbox_test_servers::{Cluster, Options, Postgres, Result};
use tokio::task::block_in_place;

use crate::{
    place::Place,
    soak,
    storm::{Every, LEASE, storm},
};

#[tokio::test(flavor = "multi_thread")]
async fn d1_o3_o11_hold_while_the_server_is_restarted() {
    survives(Size::chosen(), |cluster| {
        cluster.stop_fast()?;
        cluster.start()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d1_o3_o11_hold_while_the_server_crashes() {
    survives(Size::chosen(), |cluster| {
        cluster.stop_immediate()?;
        cluster.start()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d2_o11_hold_while_the_server_is_away_for_longer_than_a_lease() {
    let blows = if soak() { 10 } else { 1 };
    let size = Size {
        blows,
        ..Size::chosen()
    };
    survives(size, |cluster| {
        cluster.stop_immediate()?;
        thread::sleep(LEASE * 3 / 2);
        cluster.start()
    })
    .await;
}

struct Size {
    blows: usize,
    /// How many messages come between two blows.
    between: usize,
}

impl Size {
    fn chosen() -> Self {
        let (blows, between) = if soak() { (20, 2_000) } else { (2, 200) };
        Self { blows, between }
    }
}

async fn survives(size: Size, blow: impl Fn(&mut Cluster) -> Result) {
    // What the server confirmed is to be there after a crash.
    let settings = [("fsync", "on"), ("synchronous_commit", "on")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let options = Options {
        settings: settings.into(),
    };
    let mut cluster = block_in_place(|| Postgres::find().unwrap().start(options)).unwrap();
    let place = Place::at(cluster.url("postgres"), "outbox").await;
    storm(
        &place,
        size.blows,
        Every::Messages(size.between),
        async || {
            block_in_place(|| blow(&mut cluster)).unwrap();
        },
    )
    .await;
}
