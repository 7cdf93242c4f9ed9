//! URLs as receivers write them, and what messages cannot do to them.

use super::*;

fn target(url: &str) -> Target {
    Target::read(url, None).unwrap()
}

fn message(topic: &str, key: Option<&str>) -> Message {
    let message = Message::new(topic, "").unwrap().with_key(key).unwrap();
    message.with_id("m/1").unwrap()
}

fn sent_to(url: &str, topic: &str, key: Option<&str>) -> Option<String> {
    let url = target(url).url(&message(topic, key)).ok()?;
    Some(url.to_string())
}

#[test]
fn a_url_without_placeholders_is_the_same_for_all() {
    for (written, sent) in [
        ("https://h", "https://h/"),
        ("https://h?a=1", "https://h/?a=1"),
        ("http://H:80/a/b?c=%2F&d", "http://h/a/b?c=%2F&d"),
        ("https://h:8443/", "https://h:8443/"),
        ("https://[2606:4700::1]/x", "https://[2606:4700::1]/x"),
        (
            "https://bücher.example/é",
            "https://xn--bcher-kva.example/%C3%A9",
        ),
        ("https://h/{{a}}", "https://h/%7Ba%7D"),
        ("https://h//a//", "https://h//a//"),
    ] {
        assert_eq!(sent_to(written, "t", None).as_deref(), Some(sent));
    }
}

#[test]
fn what_a_message_brings_is_one_piece_of_the_path_or_of_the_query() {
    let url = "https://h/in/{topic}/{key}?k={key}&i={id}";
    let sent = |topic, key| sent_to(url, topic, key).unwrap();
    assert_eq!(
        sent("orders.created", Some("7")),
        "https://h/in/orders.created/7?k=7&i=m%2F1"
    );
    assert_eq!(
        sent("a/../b", Some("é&x=1#f")),
        "https://h/in/a%2F..%2Fb/%C3%A9%26x%3D1%23f?k=%C3%A9%26x%3D1%23f&i=m%2F1"
    );
    assert_eq!(
        sent("@evil.example", None),
        "https://h/in/%40evil.example/?k=&i=m%2F1"
    );
    for hostile in [
        "?a=b",
        "#",
        "\\",
        "//evil.example/",
        "%2e%2e",
        "a b",
        "a:b@c",
        ";",
        "{key}",
    ] {
        let sent = Url::parse(&sent(hostile, Some("k"))).unwrap();
        assert_eq!(sent.host_str(), Some("h"), "{hostile}");
        assert_eq!(
            sent.path_segments().unwrap().count(),
            3,
            "{hostile}: {sent}"
        );
        assert_eq!(sent.query(), Some("k=k&i=m%2F1"), "{hostile}");
    }
}

proptest::proptest! {
    #[test]
    fn whatever_a_message_brings_the_rest_of_the_url_stays(topic in "[^\\p{Cc}]{1,60}", key in "[^\0]{1,60}") {
        let target = target("https://h:8443/in/{topic}/x/{key}/y?a={topic}&b={key}&c=d");
        let Ok(url) = target.url(&message(&topic, Some(&key))) else {
            proptest::prop_assert!([".", ".."].contains(&&*topic) || [".", ".."].contains(&&*key));
            return Ok(());
        };
        proptest::prop_assert_eq!(url.origin().ascii_serialization(), "https://h:8443");
        proptest::prop_assert_eq!((url.username(), url.fragment()), ("", None));
        let decoded = |text: &str| outbox_publisher::percent_decode(text).unwrap();
        let path: Vec<_> = url.path_segments().unwrap().map(decoded).collect();
        proptest::prop_assert_eq!(path, ["in", &topic, "x", &key, "y"]);
        let query: Vec<_> = url.query().unwrap().split('&').map(decoded).collect();
        proptest::prop_assert_eq!(query, [format!("a={topic}"), format!("b={key}"), "c=d".to_owned()]);
    }
}

#[test]
fn a_part_of_the_path_that_would_lead_upwards_is_malformed() {
    for topic in [".", ".."] {
        let refused = target("https://h/in/{topic}").url(&message(topic, None));
        assert_eq!(refused.unwrap_err().kind, PublishErrorKind::Malformed);
    }
    assert!(sent_to("https://h/in/{topic}{key}", ".", Some(".")).is_none());
    assert!(sent_to("https://h/in/x{topic}", "..", None).is_some());
    assert!(sent_to("https://h/in?{topic}", "..", None).is_some());
    let long = "é".repeat(512);
    assert!(sent_to("https://h/{key}/{key}/{key}", "t", Some(&long)).is_none());
}

#[test]
fn what_is_no_url_of_a_receiver_is_refused() {
    let refused = |url: &str| Target::read(url, None).unwrap_err();
    for url in ["", "h", "ftp://h", "HTTPS://h", "https:/h", "//h"] {
        assert_eq!(refused(url), InvalidUrl::Scheme, "{url}");
    }
    for url in [
        "https://",
        "https:///a",
        "https://h:0/",
        "https://h:x",
        "https://{topic}/",
        "https://u@h/",
        "https://a b/",
        "https://[::1/",
    ] {
        assert_eq!(refused(url), InvalidUrl::Host, "{url}");
    }
    for url in [
        "https://h/a b",
        "https://h/a\tb",
        "https://h\\a",
        "https://h/a/../b",
        "https://h/%2E%2e/b",
        "https://h/./b",
    ] {
        assert!(matches!(refused(url), InvalidUrl::Path { .. }), "{url}");
    }
    for url in ["https://h/{job}", "https://h/{", "https://h/?a={b}"] {
        assert!(matches!(refused(url), InvalidUrl::Template(_)), "{url}");
    }
}

#[test]
fn a_host_that_is_an_address_is_known_however_it_is_written() {
    let address = |url: &str| target(url).address().map(|address| address.to_string());
    for url in [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://0x7f000001/",
        "http://2130706433/",
        "http://0177.0.0.1/",
        "http://127.0.0.1./",
    ] {
        assert_eq!(address(url).as_deref(), Some("127.0.0.1"), "{url}");
    }
    assert_eq!(
        address("http://[::ffff:127.0.0.1]/").as_deref(),
        Some("::ffff:127.0.0.1")
    );
    assert_eq!(address("http://localhost/"), None);
}

#[test]
fn people_see_where_a_topic_goes_and_never_the_query() {
    let topic = Topic::new("orders").unwrap();
    for (url, name, shown) in [
        ("https://h/a?token=hunter2", None, "https://h:443/a"),
        (
            "https://h/{topic}/{key}",
            None,
            "https://h:443/orders/{key}",
        ),
        ("http://h/a?t={topic}", None, "http://h:80/a orders"),
        ("https://h/T0/hunter2", Some("chat"), "https://h:443 chat"),
        (
            "https://h/hunter2/{topic}",
            Some("chat"),
            "https://h:443 chat orders",
        ),
    ] {
        let target = Target::read(url, name).unwrap();
        assert_eq!(target.shown(&topic), shown);
        assert!(!target.shown_in_general().contains("hunter2"), "{url}");
    }
}
