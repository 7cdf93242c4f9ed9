//! From a shell into the store and out to each of the real brokers: what arrives, what `check` says is wrong, and brokers
//! that are away or lack something. What each publisher promises is tested beside it.

mod client;

use std::fs;

use outbox_test_servers::{
    Broker, Nats, NatsOptions, RabbitMq, RabbitMqOptions, Redis, RedisOptions, Server,
};
use serde_json::{Value, json};

pub(crate) use self::client::{declare, in_list, in_queue, unique};
use self::client::{in_stream, set};
use crate::program::{Place, Ran, lines};

const SECRET: &str = "s3cret";

pub(crate) fn save(place: &Place, topic: &str) {
    let input = lines(6, 2).replace("orders", topic).replace("m-", topic);
    place.run(&["save"], &input).expect(0);
}

/// Asserts that the six messages of [`save`] are there, those of each key in their order.
#[track_caller]
pub(crate) fn all_in_order(payloads: &[String]) {
    let number = |payload: &String| -> Value { serde_json::from_str(payload).unwrap() };
    let numbers = payloads.iter().map(|payload| number(payload)["n"].as_u64());
    let (even, odd): (Vec<u64>, Vec<u64>) = numbers.flatten().partition(|n| n % 2 == 0);
    assert_eq!((even, odd), (vec![0, 2, 4], vec![1, 3, 5]), "{payloads:?}");
}

fn stream(url: &str, name: &str) -> String {
    format!("{url}?subject={name}.{{topic}}&stream={name}&create_stream=true")
}

/// A URL of a shared server with another password.
fn with_secret(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap();
    let (login, host) = rest.split_once('@').unwrap();
    let (user, _) = login.split_once(':').unwrap();
    format!("{scheme}://{user}:{SECRET}@{host}")
}

#[test]
fn each_broker_gets_what_a_shell_saved_and_what_one_lacks_holds_up_its_topics_alone() {
    let (rabbitmq, nats) = (RabbitMq::shared().unwrap(), Nats::shared().unwrap());
    let redis = Redis::shared().unwrap();
    let (queue, events, list) = (unique("queue"), unique("events"), unique("list"));
    let place = Place::migrated();
    for topic in [&queue, &events, &list] {
        save(&place, topic);
    }
    let (scheme, rest) = rabbitmq.url().split_once("://").unwrap();
    let (login, host) = rest.split_once('@').unwrap();
    let (user, password) = login.split_once(':').unwrap();
    fs::write(place.path("password"), password).unwrap();
    let options = format!(
        "route = ['queue-*={scheme}://{user}:${{file:password}}@{host}', 'events-*={}', '*={}']\n",
        stream(nats.url(), &events),
        redis.url(),
    );
    fs::write(place.path("outbox.toml"), options).unwrap();
    let args = ["relay", "--until-empty", "--transient-delay=100ms"];
    let relay = place.program(&args).spawn().unwrap();
    let status = place.wait_for(|status| {
        let stopped = &status["topics"][0]["stopped"];
        status["pending"]["total"] == 6 && stopped["cause"] == "destination"
    });
    assert_eq!(status["topics"][0]["topic"], *queue);
    assert_eq!(in_list(redis.url(), &list).len(), 6);
    declare(rabbitmq.url(), &queue);
    let ran = Ran::of(relay).expect(0);
    assert!(ran.stdout.contains("published 18 messages"), "{ran:?}");
    all_in_order(&in_queue(rabbitmq.url(), &queue));
    all_in_order(&in_stream(nats.url(), &events));
    all_in_order(&in_list(redis.url(), &list));
    // It begins, the queue is missing, it is there, it ends: a line each, and none of the brokers' libraries.
    assert_eq!(ran.stderr.lines().count(), 4, "{}", ran.stderr);
    ran.says(&["the destination is unavailable", "confirms again", &queue]);
}

#[test]
fn what_a_brokers_library_logs_is_shown_on_demand_only() {
    let rabbitmq = RabbitMq::shared().unwrap();
    let place = Place::migrated();
    save(&place, &unique("nowhere"));
    let args = ["relay", "--for=2s", "--to", rabbitmq.url()];
    let logs = |filter: Option<&str>| {
        let mut program = place.program(&args);
        program.envs(filter.map(|filter| ("RUST_LOG", filter)));
        Ran::of(program.spawn().unwrap()).expect(0).stderr
    };
    let (silent, asked) = (logs(None), logs(Some("lapin=warn")));
    assert!(!silent.contains("lapin"), "{silent}");
    assert!(asked.contains("lapin::returned_messages"), "{asked}");
}

#[track_caller]
fn is_wrong(place: &Place, topic: &str, to: &str, words: &[&str]) {
    let args = ["check", "--to", to, "--topic", topic];
    let ran = place.run(&args, "").expect(6);
    for word in words {
        assert!(ran.stdout.contains(word), "{word} is not in {ran:#?}");
    }
    assert_eq!(ran.stderr, "");
    assert!(!ran.stdout.contains(SECRET), "{ran:#?}");
    let json = place.run(&[&args[..], &["--json"]].concat(), "").expect(6);
    assert!(json.json()["topics"][0]["error"].is_string());
}

#[test]
fn check_names_what_a_broker_lacks() {
    let place = Place::migrated();
    let (rabbitmq, nats) = (RabbitMq::shared().unwrap(), Nats::shared().unwrap());
    let redis = Redis::shared().unwrap();
    let name = unique("missing");
    let exists = format!("queue \"{name}\" does not exist");
    is_wrong(&place, &name, rabbitmq.url(), &[&exists, "declare=true"]);
    let exchange = format!("{}?exchange={name}", rabbitmq.url());
    let exists = format!("exchange \"{name}\" does not exist");
    is_wrong(&place, &name, &exchange, &[&exists, "exchange="]);
    let vhost = format!("{}/{name}", rabbitmq.url());
    is_wrong(&place, &name, &vhost, &[&name, "virtual host"]);
    let no_stream = format!("{}?stream={name}", nats.url());
    is_wrong(
        &place,
        &name,
        &no_stream,
        &["the stream", &name, "create it"],
    );
    set(redis.url(), &name);
    is_wrong(&place, &name, redis.url(), &[&name, "holds no list"]);
}

#[test]
fn check_says_that_a_password_is_wrong_and_does_not_show_it() {
    let place = Place::migrated();
    let nats = Nats::start(NatsOptions {
        password: Some("another".to_owned()),
        ..NatsOptions::default()
    });
    let redis = Redis::start(RedisOptions {
        password: Some("another".to_owned()),
        ..RedisOptions::default()
    });
    let (nats, redis) = (nats.unwrap(), redis.unwrap());
    for url in [RabbitMq::shared().unwrap().url(), &nats.url(), &redis.url()] {
        is_wrong(&place, "t", &with_secret(url), &["refuses", "password"]);
    }
}

/// The broker is away when the relay starts, and comes.
fn is_waited_for<B: Broker>(
    mut server: Server<B>,
    url_of: impl Fn(&str) -> String,
    arrived: impl Fn(&str, &str) -> Vec<String>,
) {
    let place = Place::migrated();
    let topic = unique("away");
    save(&place, &topic);
    server.kill().unwrap();
    let to = url_of(&server.url());
    let mut program = place.program(&["relay", "--until-empty", "--json"]);
    program.args(["--transient-delay=100ms", "--to", &to]);
    let relay = program.spawn().unwrap();
    let status = place.wait_for(|status| !status["circuits"].as_array().unwrap().is_empty());
    assert_eq!(status["pending"]["total"], 6);
    let port = format!("127.0.0.1:{}", server.port());
    is_wrong(&place, &topic, &to, &["nothing listens", &port]);
    server.start_again().unwrap();
    let report = Ran::of(relay).expect(0).json();
    assert_eq!(
        (&report["published"], &report["dead"]),
        (&json!(6), &json!(0))
    );
    all_in_order(&arrived(&server.url(), &topic));
}

#[test]
fn f3_a_rabbitmq_that_is_away_is_waited_for() {
    let server = RabbitMq::start(RabbitMqOptions::default()).unwrap();
    is_waited_for(server, |url| format!("{url}?declare=true"), in_queue);
}

#[test]
fn f3_a_nats_that_is_away_is_waited_for() {
    let server = Nats::start(NatsOptions::default()).unwrap();
    let arrived = |url: &str, _: &str| in_stream(url, "AWAY");
    is_waited_for(server, |url| stream(url, "AWAY"), arrived);
}

#[test]
fn f3_a_redis_that_is_away_is_waited_for() {
    let server = Redis::start(RedisOptions::default()).unwrap();
    is_waited_for(server, str::to_owned, in_list);
}
