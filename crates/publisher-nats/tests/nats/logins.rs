//! Who a publisher is for a server, and what that lets it do.

use std::fmt::Write;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use nkeys::KeyPair;
use outbox_message::Topic;
use outbox_publisher::Publisher;
use outbox_publisher_nats::NatsPublisher;
use outbox_test_servers::{Nats, NatsOptions};
use serde_json::{Value, json};

use super::{assert_unavailable, confirm, fail, message};
use crate::stream::{PASSWORD, TestStream};

fn server(settings: &[(&str, String)]) -> Nats {
    let settings = settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()));
    let options = NatsOptions {
        settings: settings.collect(),
        ..NatsOptions::default()
    };
    Nats::start(options).unwrap()
}

fn publisher(server: &Nats, user: &str, more: &str) -> NatsPublisher {
    let port = server.port();
    let url = format!(
        "nats://{user}127.0.0.1:{port}?subject=e.{{topic}}&stream=E&create_stream=true{more}"
    );
    NatsPublisher::new(&url).unwrap()
}

#[tokio::test]
async fn a_token_is_a_user_without_a_password() {
    let server = server(&[("authorization", "{ token: \"t0/ken\" }".to_owned())]);
    confirm(
        &publisher(&server, "t0%2Fken@", ""),
        &message("t", "k", "a"),
    )
    .await;
    for user in ["", "other@"] {
        let failure = fail(&publisher(&server, user, ""), &message("t", "k", "a")).await;
        assert_unavailable(&failure, &["refuses the credentials"]);
        assert!(failure.source.is_none(), "it would say so again");
    }
}

#[tokio::test]
async fn f3_an_nkey_signs_and_another_one_is_refused() {
    let (keys, others) = (KeyPair::new_user(), KeyPair::new_user());
    let users = format!("{{ users: [ {{ nkey: {} }} ] }}", keys.public_key());
    let server = server(&[("authorization", users)]);
    let folder = tempfile::tempdir().unwrap();
    for (keys, is_known) in [(keys, true), (others, false)] {
        let file = folder.path().join("user.nk");
        std::fs::write(&file, format!("# shop\n{}\n", keys.seed().unwrap())).unwrap();
        let publisher = publisher(&server, "", &format!("&nkey={}", file.display()));
        if is_known {
            confirm(&publisher, &message("t", "k", "a")).await;
        } else {
            let failure = fail(&publisher, &message("t", "k", "a")).await;
            assert_unavailable(&failure, &["refuses the credentials"]);
        }
    }
}

/// A JWT of NATS: who signs says what holds for whom.
fn jwt(issuer: &KeyPair, subject: &str, nats: &Value) -> String {
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let header = part(&json!({"typ": "JWT", "alg": "ed25519-nkey"}));
    let claims = json!({"jti": subject, "iat": 1, "iss": issuer.public_key(), "name": "outbox", "sub": subject, "nats": nats});
    let mut token = format!("{header}.{}", part(&claims));
    let signature = issuer.sign(token.as_bytes()).unwrap();
    write!(token, ".{}", BASE64_URL_SAFE_NO_PAD.encode(signature)).unwrap();
    token
}

#[tokio::test]
async fn a_credentials_file_logs_in_where_an_operator_signs_accounts() {
    let (operator, account, system, user) = (
        KeyPair::new_operator(),
        KeyPair::new_account(),
        KeyPair::new_account(),
        KeyPair::new_user(),
    );
    let operator_jwt = jwt(
        &operator,
        &operator.public_key(),
        &json!({"type": "operator", "version": 2}),
    );
    let limits = json!({"subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1, "leaf": -1,
        "mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1});
    let account_jwt = |account: &KeyPair| {
        let nats = json!({"type": "account", "version": 2, "limits": limits});
        jwt(&operator, &account.public_key(), &nats)
    };
    let nats = json!({"type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1});
    let user_jwt = jwt(&account, &user.public_key(), &nats);
    let preload = format!(
        "{{ {}: {}, {}: {} }}",
        account.public_key(),
        account_jwt(&account),
        system.public_key(),
        jwt(
            &operator,
            &system.public_key(),
            &json!({"type": "account", "version": 2, "limits": {"subs": -1, "data": -1, "payload": -1,
            "imports": -1, "exports": -1, "wildcards": true, "conn": -1, "leaf": -1}})
        )
    );
    let server = server(&[
        ("operator", operator_jwt),
        ("system_account", system.public_key()),
        ("resolver", "MEMORY".to_owned()),
        ("resolver_preload", preload),
    ]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("user.creds");
    let seed = user.seed().unwrap();
    let text = format!(
        "-----BEGIN NATS USER JWT-----\n{user_jwt}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    );
    std::fs::write(&file, text).unwrap();
    confirm(
        &publisher(&server, "", &format!("&creds={}", file.display())),
        &message("t", "k", "a"),
    )
    .await;
    let failure = fail(&publisher(&server, "", ""), &message("t", "k", "a")).await;
    assert_unavailable(&failure, &["refuses the credentials"]);
}

#[tokio::test]
async fn f3_a_forbidden_subject_is_unavailable_and_its_neighbors_are_published() {
    let permissions = "{ publish: { deny: [ \"*.closed.>\", \"$JS.API.>\" ] } }";
    let users = format!(
        "{{ users: [ {{ user: outbox, password: \"{PASSWORD}\", permissions: {permissions} }}, {{ user: admin, password: \"{PASSWORD}\" }} ] }}"
    );
    let mut options = TestStream::options();
    options.password = None;
    options.settings = vec![("authorization".to_owned(), users)];
    let mut stream = TestStream::alone_as("admin", options).await;
    let publisher = stream.publisher("");
    confirm(&publisher, &message("open", "k", "a")).await;
    for _ in 0..2 {
        let failure = fail(&publisher, &message("closed", "k", "b")).await;
        assert_unavailable(&failure, &[".closed.k", "permissions"]);
    }
    confirm(&publisher, &message("open", "k", "c")).await;
    assert_eq!(stream.texts().await, ["a", "c"]);
    // It may not ask about streams, so it cannot tell, and says yes.
    publisher.check(&Topic::new("open").unwrap()).await.unwrap();
    assert_eq!(stream.proxy.accepted(), 1, "the connection is the same");
}

#[tokio::test]
async fn f3_the_wrong_scheme_and_an_unknown_authority_are_told_with_the_way_out() {
    let plain = server(&[]);
    let insists = Nats::start(NatsOptions {
        tls: true,
        settings: vec![("allow_non_tls".to_owned(), "false".to_owned())],
        ..NatsOptions::default()
    })
    .unwrap();
    for (scheme, port, shown) in [
        ("tls", plain.port(), "speaks no TLS on this port"),
        ("tls", insists.port(), "with ca= in the URL"),
        ("nats", insists.port(), "insists on TLS; write tls://"),
        ("nats", 1, "nothing listens at nats://127.0.0.1:1"),
    ] {
        let publisher = NatsPublisher::new(&format!("{scheme}://127.0.0.1:{port}")).unwrap();
        let failure = fail(&publisher, &message("t", "k", "a")).await;
        assert_unavailable(&failure, &[shown]);
    }
}
