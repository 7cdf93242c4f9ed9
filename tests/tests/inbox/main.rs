//! From one database to another: saved in Postgres, relayed through a stream of Redis by a relay that crashes, so that everything is delivered twice, and
//! consumed by processes that are killed, once before they acknowledge and once between a handler's commit and its settlement. Each id is handled once.

#![cfg(unix)]
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong, and a process tells its parent how far it is"
)]

mod consumer;
mod database;
mod shapes;
mod shop;
mod stream;

use std::collections::BTreeSet;

use consumer::{Part, Process};
use database::{Database, InPostgres, InSqlite};
use outbox_test_servers::{Redis, RedisOptions};
use shop::Shop;
use stream::Stream;

#[tokio::test(flavor = "multi_thread")]
async fn d1_each_id_is_handled_once_in_sqlite_through_crashes_of_relay_and_consumer() {
    let name = "d1_each_id_is_handled_once_in_sqlite_through_crashes_of_relay_and_consumer";
    each_id_is_handled_once::<InSqlite>(name).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d1_each_id_is_handled_once_in_postgres_through_crashes_of_relay_and_consumer() {
    let name = "d1_each_id_is_handled_once_in_postgres_through_crashes_of_relay_and_consumer";
    each_id_is_handled_once::<InPostgres>(name).await;
}

async fn each_id_is_handled_once<D: Database>(test: &str) {
    if let Some(part) = Part::of_this_process() {
        return part.play::<D>().await;
    }
    let redis = Redis::start(RedisOptions::default()).unwrap();
    let shop = Shop::open().await;
    let orders = shop.place_orders().await;

    // The broker has all of it, and the relay dies before it can say so.
    let mut stream = Stream::of(&redis.url()).await;
    shop.relay_and_crash(&redis.url(), &mut stream, orders.len())
        .await;
    shop.relay(&redis.url()).await;
    assert_eq!(stream.len().await, 2 * orders.len());

    let database = D::make().await;
    let process = |part| Process::start(test, part, &redis.url(), &database.place());
    // It saves every delivery, and acknowledges none.
    process(Part::Taking).killed_when("taken");
    // It gets all of them again, handles some, and settles none.
    process(Part::Handling).killed_when("handled");
    let handled_before = database.bills().await.len();
    assert!(handled_before > 0, "it was killed after a commit");

    database.end_leases().await;
    let report = consumer::handle(&database).await;
    assert_eq!(report.dead, 0);
    assert_eq!(database.pending().await, 0);
    // Every delivery was taken twice, and every copy of it is done.
    let copies = u64::try_from(4 * orders.len()).unwrap();
    assert_eq!(report.published, copies);
    assert_eq!(stream.unacknowledged().await, 0);

    let bills = database.bills().await;
    let ids: Vec<&str> = bills.iter().map(|bill| bill.id.as_str()).collect();
    let expected: BTreeSet<&str> = orders.iter().map(String::as_str).collect();
    assert_eq!(ids.iter().copied().collect::<BTreeSet<_>>(), expected);
    assert_eq!(ids.len(), orders.len(), "no id was handled twice");
    for customer in shop::CUSTOMERS {
        let mut of_customer = bills.iter().filter(|bill| bill.customer == customer);
        assert!(
            of_customer
                .by_ref()
                .map(|bill| bill.number)
                .eq(0..shop::ORDERS_EACH)
        );
    }
    assert_eq!(database.handled_ids().await, orders.len());
    database.leave().await;
    shop.leave().await;
}
