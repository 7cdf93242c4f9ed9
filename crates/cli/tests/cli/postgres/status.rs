//! What only a server has to show.

use crate::program::Place;

#[test]
fn case_27_status_names_the_session_that_holds_the_horizon() {
    let place = Place::on_postgres();
    place.run(&["migrate"], "").expect(0);
    let mut holder = place.schema().session();
    holder.sql("set application_name = 'a report'; begin isolation level repeatable read");
    let pid = holder.number("select pg_backend_pid()::bigint").to_string();
    let status = place.wait_for(|status| status["horizon"]["name"] == pid);
    let horizon = &status["horizon"];
    assert_eq!(horizon["holder"], "session");
    assert_eq!(horizon["application"], "a report");
    assert_eq!(horizon["state"], "idle in transaction");
    assert!(
        horizon["open_for_ms"].as_u64().unwrap() >= 10_000,
        "{horizon}"
    );
    let text = place.run(&["status"], "").expect(0).stdout;
    assert!(text.contains("application a report"), "{text}");
    holder.sql("commit");
    place.wait_for(|status| status["horizon"]["name"] != pid);
}
