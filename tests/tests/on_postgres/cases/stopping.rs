//! A relay that is told to stop while its broker does not answer.

use std::time::Duration;

use outbox::{Key, RelayConfig};

use crate::shop::{Shop, message};

#[tokio::test(flavor = "multi_thread")]
async fn d4_case_14_a_stop_with_a_hundred_publishes_in_flight_gives_all_of_them_back() {
    let shop = Shop::open().await;
    let messages: Vec<_> = (0..100)
        .map(|n| message(Key::NONE, &n.to_string()))
        .collect();
    shop.save(&messages).await;
    shop.broker.hold_all();
    let config = RelayConfig {
        concurrency: 100,
        grace: Duration::from_secs(4),
        ..RelayConfig::default()
    };
    let relay = shop.start(config).await;
    shop.begun(100).await;
    let report = relay.stop().await;
    assert_eq!(
        (report.published, report.released, report.left),
        (0, 100, 0)
    );
    assert!(shop.broker.handed().iter().all(|handed| handed.abandoned));
    let status = shop.status().await;
    assert_eq!(status.pending(), 100, "none is marked as published");
    assert_eq!(status.lanes, [], "no lease is left behind");

    shop.broker.open();
    assert_eq!(shop.drain(RelayConfig::default()).await.published, 100);
}
