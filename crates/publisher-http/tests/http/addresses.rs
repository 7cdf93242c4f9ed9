//! Addresses that are not public, however they come: nothing is sent to them, and nothing is connected to.

use std::{env, error::Error, process::Command};

use outbox_publisher::Publisher;
use outbox_publisher_http::{HttpPublisher, InvalidUrl};

use super::{assert_unavailable, fail, message, publish, receiver};

#[test]
fn an_address_in_the_url_is_refused_however_it_is_written() {
    for host in [
        "127.0.0.1",
        "127.1",
        "0",
        "0x7f000001",
        "017700000001",
        "2130706433",
        "[::1]",
        "[::]",
        "[::ffff:10.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "169.254.169.254",
        "10.1.2.3",
        "100.64.0.1",
        "192.168.0.1",
        "224.0.0.1",
        "255.255.255.255",
    ] {
        let refused = HttpPublisher::new(&format!("http://{host}/")).unwrap_err();
        assert!(
            matches!(refused, InvalidUrl::NotPublic { .. }),
            "{host}: {refused}"
        );
        HttpPublisher::new(&format!("http://{host}/#allow_private=true")).unwrap();
    }
    HttpPublisher::new("http://8.8.8.8/").unwrap();
}

#[tokio::test]
async fn f3_a_name_that_leads_to_this_machine_is_refused_after_it_was_looked_up() {
    let receiver = receiver().await;
    let url = |more: &str| format!("http://localhost:{}/hooks?t=7#{more}", receiver.port());
    let publisher = HttpPublisher::new(&url("")).unwrap();
    let failure = fail(&publisher, &message("a")).await;
    assert_unavailable(
        &failure,
        &["localhost leads to", "loopback", "allow_private=true"],
    );
    assert!(failure.source().is_none(), "{failure:?}");
    assert_unavailable(&publisher.reach().await.unwrap_err(), &["localhost"]);
    assert_eq!(receiver.connections(), 0);
    let allowed = HttpPublisher::new(&url("allow_private=true")).unwrap();
    publish(&allowed, &message("a")).await.unwrap();
}

#[tokio::test]
async fn f3_a_name_that_is_not_known_is_unavailable() {
    let publisher = HttpPublisher::new("http://no-such-host.invalid/").unwrap();
    let failure = fail(&publisher, &message("a")).await;
    assert_unavailable(&failure, &["no-such-host.invalid was not found"]);
    let source = failure.source().unwrap();
    assert!(source.source().is_none(), "{source:?}");
    let why = source.to_string();
    assert!(!why.is_empty() && !why.contains("no-such-host"), "{why}");
}

#[tokio::test]
async fn a_proxy_is_used_if_it_is_named() {
    let receiver = receiver().await;
    // The receiver stands for a proxy: it gets the whole URL to see.
    let url = format!(
        "http://shop.example/hooks#proxy=http://localhost:{}",
        receiver.port()
    );
    let publisher = HttpPublisher::new(&url).unwrap();
    publish(&publisher, &message("a")).await.unwrap();
    assert_eq!(receiver.accepted()[0].target, "http://shop.example/hooks");
}

#[test]
fn proxies_of_the_environment_are_not_used() {
    // Another test of this program, in a process whose environment names a proxy that is not there.
    let other = "requests::a_webhook_is_a_post_of_the_payload_and_no_more_headers_than_it_takes";
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([other, "--exact"]);
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        command.env(name, "http://127.0.0.1:1");
    }
    for name in ["NO_PROXY", "no_proxy"] {
        command.env_remove(name);
    }
    let ended = command.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(
        ended.status.success() && said.contains("1 passed"),
        "{said}"
    );
}
