//! Users, passwords, permissions, databases.

use outbox_publisher::Publisher;
use outbox_publisher_redis::RedisPublisher;
use outbox_test_servers::{Redis, RedisOptions};

use crate::{
    run::{message, publish_all, unavailable},
    server::{PASSWORD, list, plain, say, shared, tls_port},
};

fn at(server: &Redis, user: &str, path: &str) -> RedisPublisher {
    RedisPublisher::new(&format!("redis://{user}127.0.0.1:{}/{path}", server.port())).unwrap()
}

#[tokio::test]
async fn f3_a_missing_a_wrong_and_a_needless_login_are_unavailable_and_say_so() {
    let server = shared();
    let one = [message("logins", "a")];
    unavailable(&at(&server, "", ""), &one, "wants a login").await;
    unavailable(&at(&server, "", "1"), &one, "wants a login").await;
    unavailable(
        &at(&server, ":wrong@", ""),
        &one,
        "refuses the user or the password",
    )
    .await;
    let stranger = format!("stranger:{PASSWORD}@");
    unavailable(
        &at(&server, &stranger, ""),
        &one,
        "refuses the user or the password",
    )
    .await;
    publish_all(&at(&server, &format!("default:{PASSWORD}@"), ""), &one).await;
    let server = plain(&[]);
    unavailable(&at(&server, ":needless@", ""), &one, "takes no login").await;
}

#[tokio::test]
async fn f3_a_user_without_the_permission_is_unavailable_until_he_has_it() {
    let server = plain(&[]);
    say(&server, "ACL SETUSER relay on >secret ~orders +ping").await;
    for (layout, command) in [("list", "rpush"), ("stream", "xadd")] {
        let publisher = at(&server, "relay:secret@", &format!("?layout={layout}"));
        let one = [message("orders", "a")];
        unavailable(&publisher, &one, &format!("'{command}' command")).await;
        say(&server, &format!("ACL SETUSER relay +{command}")).await;
        publish_all(&publisher, &one).await;
        // He may not ask, so nobody can tell.
        publisher.check(&one[0].topic).await.unwrap();
        say(&server, "DEL orders").await;
    }
    let publisher = at(&server, "relay:secret@", "?layout=stream");
    let three = ["a", "b", "c"].map(|payload| message("orders", payload));
    unavailable(&publisher, &three, "'evalsha' command").await;
    say(&server, "ACL SETUSER relay +evalsha +eval").await;
    publish_all(&publisher, &three).await;
    unavailable(
        &publisher,
        &[message("payments", "a")],
        "to access one of the keys",
    )
    .await;
}

#[tokio::test]
async fn a_database_is_chosen_and_one_that_is_not_there_is_unavailable() {
    let server = plain(&[]);
    let one = [message("orders", "a")];
    publish_all(&at(&server, "", "3"), &one).await;
    assert!(list(&server, "orders").await.is_empty());
    assert!(say(&server, "INFO keyspace").await.contains("db3:keys=1"));
    unavailable(&at(&server, "", "99"), &one, "no such database").await;
}

#[tokio::test]
async fn f3_a_login_that_is_asked_for_later_is_made_with_the_next_connection() {
    let server = plain(&[]);
    let publisher = at(&server, ":secret@", "");
    let one = [message("orders", "a")];
    unavailable(&publisher, &one, "takes no login").await;
    say(&server, "CONFIG SET requirepass secret").await;
    publish_all(&publisher, &one).await;
}

#[tokio::test]
async fn f3_a_server_that_asks_for_a_certificate_gets_it_or_is_unavailable() {
    let server = Redis::start(RedisOptions {
        tls: true,
        settings: vec![("tls-auth-clients".to_owned(), "yes".to_owned())],
        ..RedisOptions::default()
    })
    .unwrap();
    let ca = server.ca_file().unwrap();
    // The server's own certificate is one that it trusts.
    let folder = ca.parent().unwrap().display();
    let url = format!("{}/?ca={}", server.tls_url().unwrap(), ca.display());
    let one = [message("orders", "a")];
    let stranger = RedisPublisher::new(&url).unwrap();
    unavailable(&stranger, &one, "rediss://127.0.0.1:").await;
    let url = format!("{url}&cert={folder}/server.pem&key={folder}/server.key");
    publish_all(&RedisPublisher::new(&url).unwrap(), &one).await;
    assert_eq!(list(&server, "orders").await, ["a"]);
}

#[test]
fn a_file_of_certificates_that_is_of_no_use_is_refused_at_once() {
    for (parameters, shown) in [
        (
            "ca=/no/such/file",
            "the authority /no/such/file cannot be used",
        ),
        ("ca=/dev/null", "there is no certificate in it"),
    ] {
        let refused = RedisPublisher::new(&format!("rediss://127.0.0.1/?{parameters}"));
        let text = refused.unwrap_err().to_string();
        assert!(text.contains(shown), "{text}");
    }
}

#[tokio::test]
async fn f3_the_wrong_scheme_and_an_unknown_authority_are_told_with_the_way_out() {
    let server = shared();
    let (port, tls) = (server.port(), tls_port(&server));
    for (url, shown) in [
        (format!("redis://127.0.0.1:{tls}"), "(rediss://)"),
        (format!("rediss://127.0.0.1:{tls}"), "with ca= in the URL"),
        (
            format!("rediss://127.0.0.1:{port}/?connect_timeout=1"),
            "speak TLS on this port?",
        ),
        ("redis://127.0.0.1:1".to_owned(), "nothing listens at"),
    ] {
        let publisher = RedisPublisher::new(&url).unwrap();
        unavailable(&publisher, &[message("schemes", "a")], shown).await;
    }
}
