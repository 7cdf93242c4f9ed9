//! The broker's side of a consumer: a group that reads a stream, and acknowledges.

use outbox::inbox::Incoming;
use redis::aio::MultiplexedConnection;

/// The name of the stream, which is the topic.
pub(crate) const STREAM: &str = "orders";
const GROUP: &str = "billing";
const CONSUMER: &str = "one";

pub(crate) struct Stream(MultiplexedConnection);

/// An entry of a stream: its own number, and names and values of fields in turn.
type Entry = (String, Vec<Vec<u8>>);

/// What was read, and the number that acknowledges it.
pub(crate) struct Delivery {
    pub(crate) number: String,
    pub(crate) incoming: Incoming,
}

impl Stream {
    /// The stream on this server, and the group that reads it.
    pub(crate) async fn of(url: &str) -> Self {
        let client = redis::Client::open(url).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let mut create = redis::cmd("XGROUP");
        create.arg(&["CREATE", STREAM, GROUP, "0", "MKSTREAM"]);
        // The group may be there already.
        let created: redis::RedisResult<()> = create.query_async(&mut connection).await;
        drop(created);
        Self(connection)
    }

    pub(crate) async fn len(&mut self) -> usize {
        let mut len = redis::cmd("XLEN");
        len.arg(STREAM).query_async(&mut self.0).await.unwrap()
    }

    /// What was read before and never acknowledged.
    pub(crate) async fn unacknowledged(&mut self) -> usize {
        let mut pending = redis::cmd("XPENDING");
        let pending = pending.arg(&[STREAM, GROUP]).to_owned();
        let (count, ..): (usize, redis::Value, redis::Value, redis::Value) =
            pending.query_async(&mut self.0).await.unwrap();
        count
    }

    /// Everything that this consumer has not acknowledged, and then everything that is new.
    pub(crate) async fn read_all(&mut self) -> Vec<Delivery> {
        let mut all = self.read("0").await;
        all.extend(self.read(">").await);
        all
    }

    async fn read(&mut self, from: &str) -> Vec<Delivery> {
        let mut read = redis::cmd("XREADGROUP");
        let read = read.arg(&["GROUP", GROUP, CONSUMER, "COUNT", "10000"]);
        let read = read.arg(&["STREAMS", STREAM, from]).to_owned();
        let answer: Option<Vec<(String, Vec<Entry>)>> =
            read.query_async(&mut self.0).await.unwrap();
        let entries = answer
            .into_iter()
            .flatten()
            .flat_map(|(_, entries)| entries);
        entries
            .map(|(number, fields)| Delivery {
                number,
                incoming: incoming(&fields),
            })
            .collect()
    }

    pub(crate) async fn acknowledge(&mut self, number: &str) {
        let mut acknowledge = redis::cmd("XACK");
        acknowledge.arg(&[STREAM, GROUP, number]);
        let acknowledged: usize = acknowledge.query_async(&mut self.0).await.unwrap();
        assert_eq!(acknowledged, 1);
    }
}

/// The fields of an entry as the publisher writes them.
fn incoming(fields: &[Vec<u8>]) -> Incoming {
    let field = |name: &str| {
        let mut pairs = fields.chunks(2);
        let pair = pairs.find(|pair| pair[0] == name.as_bytes());
        pair.map(|pair| pair[1].clone())
    };
    let text = |name| field(name).map(|value| String::from_utf8(value).unwrap());
    let payload = field("payload").unwrap();
    Incoming::new(text("topic").unwrap(), payload)
        .id(text("id").unwrap())
        .key(text("key").unwrap())
}
