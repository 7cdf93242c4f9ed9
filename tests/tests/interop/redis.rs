//! BabelQueue's consumers on lists of Redis.

use std::collections::BTreeMap;

use outbox::redis::RedisPublisher;
use outbox_test_servers::{Redis, Shared};

use crate::{
    babelqueue::{Consumer, Seen, fresh, publish},
    envelopes::{envelopes, no_envelopes, plain, tried},
    read::judge,
    stand::Stand,
};

fn server() -> Shared {
    Redis::shared().unwrap()
}

fn publisher(server: &Shared, parameters: &str) -> RedisPublisher {
    RedisPublisher::new(&format!("{}/?{parameters}", server.url())).unwrap()
}

/// The elements of a list.
async fn elements(server: &Shared, list: &str) -> Vec<Vec<u8>> {
    let client = redis::Client::open(server.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let mut range = redis::cmd("LRANGE");
    range.arg(list).arg(0).arg(-1);
    range.query_async(&mut connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn c2_o11_babelqueue_reads_from_redis_lists_what_was_saved() {
    let (server, stand) = (server(), Stand::new().await);
    let queues = [fresh("orders"), fresh("žluté 🐎")];
    let saved: Vec<_> = queues
        .iter()
        .flat_map(|queue| envelopes(queue, 3))
        .collect();
    stand.save(&saved).await;
    stand.publish(publisher(&server, "layout=list")).await;

    let queues = queues.each_ref().map(String::as_str);
    let seen = Consumer::default().consume(server.url(), &queues);
    judge(&saved, Seen::of, &seen);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_list_has_the_elements_that_babelqueue_would_push() {
    let (server, stand) = (server(), Stand::new().await);
    let (queue, theirs) = (fresh("orders"), fresh("theirs"));
    // Without keys, so that the order in the list is that of saving.
    let saved: Vec<_> = envelopes(&queue, 1)
        .into_iter()
        .map(|message| message.with_key("one").unwrap())
        .collect();
    stand.save(&saved).await;
    stand.publish(publisher(&server, "layout=list")).await;
    publish(server.url(), &theirs, &saved);

    let (ours, theirs) = (
        elements(&server, &queue).await,
        elements(&server, &theirs).await,
    );
    assert_eq!(ours.len(), saved.len());
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(
            ours.escape_ascii().to_string(),
            theirs.escape_ascii().to_string()
        );
    }
    assert_eq!(ours.len(), theirs.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn c2_o11_babelqueue_reads_from_the_lists_of_laravel_what_was_saved_but_no_headers() {
    let (server, stand) = (server(), Stand::new().await);
    let queue = fresh("orders");
    let saved = envelopes(&queue, 3);
    stand.save(&saved).await;
    stand.publish(publisher(&server, "layout=laravel")).await;

    let consumer = Consumer {
        laravel: true,
        ..Consumer::default()
    };
    let seen = consumer.consume(server.url(), &[&queue]);
    judge(&saved, |message| Seen::of(message).bare(), &seen);
}

/// `attempts` of the envelope as it was saved count as deliveries that BabelQueue has made.
#[tokio::test(flavor = "multi_thread")]
async fn what_fails_in_babelqueue_comes_back_from_redis_with_one_attempt_more() {
    for laravel in [false, true] {
        let (server, stand) = (server(), Stand::new().await);
        let queue = fresh("orders");
        let saved = [
            plain(&queue)
                .with_header("traceparent", "00-1-2-01")
                .unwrap(),
            plain(&queue),
            tried(&queue),
        ]
        .map(|message| message.with_key("one").unwrap());
        stand.save(&saved).await;
        let layout = if laravel {
            "layout=laravel"
        } else {
            "layout=list"
        };
        stand.publish(publisher(&server, layout)).await;

        let id = |n: usize| saved[n].id.to_string();
        let consumer = Consumer {
            laravel,
            fail_below: BTreeMap::from([(id(0), 2), (id(1), 1), (id(2), 3)]),
        };
        let mut seen = consumer.consume(server.url(), &[&queue]);
        let expected = saved.each_ref().map(|message| {
            let seen = Seen::of(message);
            if laravel { seen.bare() } else { seen }
        });
        let [failing, recovering, tried] = expected;
        let mut deliveries = vec![
            failing.clone(),
            recovering.clone(),
            tried.clone(),
            failing.clone().again(),
            recovering.again(),
            failing.again().again(),
        ];
        if laravel {
            // What comes back is sorted by the second in which it is due, and then by its text.
            seen.sort_by(|a, b| (&a.id, a.attempts).cmp(&(&b.id, b.attempts)));
            deliveries.sort_by(|a, b| (&a.id, a.attempts).cmp(&(&b.id, b.attempts)));
        }
        assert_eq!(seen, deliveries);

        // The third delivery of a message is its last.
        let dead = Consumer {
            laravel,
            ..Consumer::default()
        };
        let dead = dead.consume(server.url(), &[&format!("{queue}.dlq")]);
        tried.assert_dead(&dead);
    }
}

/// The payload comes back as an encoder writes it, and that is what this project's own codec would write.
#[tokio::test(flavor = "multi_thread")]
async fn what_comes_back_has_the_bytes_of_this_codec() {
    let (server, stand) = (server(), Stand::new().await);
    let queue = fresh("orders");
    let saved = envelopes(&queue, 1);
    stand.save(&saved).await;
    stand.publish(publisher(&server, "layout=list")).await;

    let first: Vec<_> = saved.iter().map(Seen::of).collect();
    // Those that were tried before have no delivery left but one.
    let failing = first.iter().filter(|seen| seen.attempts == 0);
    let consumer = Consumer {
        fail_below: failing.map(|seen| (seen.id.clone(), 1)).collect(),
        ..Consumer::default()
    };
    let seen = consumer.consume(server.url(), &[&queue]);
    let (deliveries, again) = seen.split_at(saved.len());
    judge(&saved, Seen::of, deliveries);
    let expected: Vec<_> = deliveries
        .iter()
        .filter(|seen| seen.attempts == 0)
        .map(|seen| seen.clone().again())
        .collect();
    assert_eq!(again, expected);
    assert!(!expected.is_empty());
}

/// Of this `docs/interop.md` warns.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_envelope_on_redis_is_given_to_no_handler_of_babelqueue() {
    let (server, stand) = (server(), Stand::new().await);
    let queue = fresh("orders");
    let saved = no_envelopes(&queue);
    stand.save(&saved).await;
    stand.publish(publisher(&server, "layout=list")).await;

    let seen = Consumer::default().consume(server.url(), &[&queue]);
    assert_eq!(seen, []);
    let dead = elements(&server, &format!("{queue}.dlq")).await;
    assert_eq!(dead.len(), saved.len());
}
