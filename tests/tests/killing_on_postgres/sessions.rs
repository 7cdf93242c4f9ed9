//! Case 15: the sessions of all relays are ended by the server, again and again.

use std::time::Duration;

use crate::{
    place::Place,
    soak,
    storm::{Every, storm},
};

#[tokio::test(flavor = "multi_thread")]
async fn case_15_relays_whose_sessions_are_ended_recover_alone_and_no_key_has_two_holders() {
    let place = Place::shared().await;
    let (blows, every) = if soak() {
        (24, Every::Time(Duration::from_secs(5)))
    } else {
        (3, Every::Messages(200))
    };
    let mut ended = 0;
    storm(&place, blows, every, async || {
        let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = $1";
        let sessions: i64 = sqlx::query_scalar(end)
            .bind(&place.application)
            .fetch_one(&place.pool)
            .await
            .unwrap();
        ended += sessions;
    })
    .await;
    assert!(ended > 0, "no session of a relay was there");
    eprintln!("{ended} sessions were ended");
    place.leave().await;
}
