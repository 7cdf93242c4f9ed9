//! The server itself goes down while relays publish and writers write, and comes back: in order, and as in a crash.

use outbox_test_servers::{Cluster, Options, Postgres, Result};
use tokio::task::block_in_place;

use crate::{
    place::Place,
    soak,
    storm::{Every, storm},
};

#[tokio::test(flavor = "multi_thread")]
async fn d1_o3_o11_hold_while_the_server_is_restarted() {
    survives(Cluster::stop_fast).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d1_o3_o11_hold_while_the_server_crashes() {
    survives(Cluster::stop_immediate).await;
}

async fn survives(stop: impl Fn(&mut Cluster) -> Result) {
    // What the server confirmed is to be there after a crash.
    let settings = [("fsync", "on"), ("synchronous_commit", "on")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let options = Options {
        settings: settings.into(),
    };
    let mut cluster = block_in_place(|| Postgres::find().unwrap().start(options)).unwrap();
    let place = Place::at(cluster.url("postgres"), "outbox").await;
    let blows = if soak() { 20 } else { 2 };
    let more = if soak() { 2_000 } else { 200 };
    storm(&place, blows, Every::Messages(more), async || {
        block_in_place(|| stop(&mut cluster).and_then(|()| cluster.start())).unwrap();
    })
    .await;
}
