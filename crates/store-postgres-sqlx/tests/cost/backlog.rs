//! Tables that are full: rows made by plain SQL, and a sample of them for the arguments of statements.

use sqlx::{Executor, PgConnection, Row};

use crate::place::Place;

/// How many rows each table gets; `backlog.sql` says of what kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Backlog {
    pub(crate) pending: u32,
    /// Messages of one key at the end of the line.
    pub(crate) one: u32,
    pub(crate) waiting: u32,
    /// Messages that stops set aside, of a topic that is stopped and of one whose stop is over.
    pub(crate) aside: u32,
    pub(crate) scheduled: u32,
    pub(crate) published: u32,
    pub(crate) dead: u32,
    pub(crate) ids: u32,
    /// What is due, and what was to be forgotten, is so many days later.
    pub(crate) later: u32,
}

impl Backlog {
    /// Adds the partitions, and keeps the server from looking after the statistics by itself.
    pub(crate) async fn prepare(place: &Place) {
        place.run(include_str!("partitions.sql")).await;
    }

    /// Fills the tables.
    pub(crate) async fn fill(self, place: &Place) {
        let counts = [
            ("{pending}", self.pending),
            ("{one}", self.one),
            ("{waiting}", self.waiting),
            ("{aside}", self.aside),
            ("{scheduled}", self.scheduled),
            ("{published}", self.published),
            ("{dead}", self.dead),
            ("{ids}", self.ids),
            ("{later}", self.later),
        ];
        let fill = counts
            .iter()
            .fold(include_str!("backlog.sql").to_owned(), |sql, (name, n)| {
                sql.replace(name, &n.to_string())
            });
        place.run(&fill).await;
    }

    /// Takes the statistics.
    pub(crate) async fn analyze(place: &Place) {
        place.run("ANALYZE outbox.message, outbox.waiting, outbox.scheduled, outbox.blocked_key, outbox.dead, outbox.published, outbox.saved_id, outbox.inbox, outbox.lane, outbox.start_mark, outbox.topic_state").await;
    }
}

/// Columns of some rows of a table, each as the literal of an array.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) lanes: String,
    pub(crate) positions: String,
    pub(crate) ids: String,
    pub(crate) topics: String,
    pub(crate) keys: String,
}

impl Sample {
    /// The first 100 rows with a key of a table.
    async fn of(place: &Place, connection: &mut PgConnection, table: &str) -> Self {
        let sql = format!(
            "SELECT
               array_agg(lane)::text,
               array_agg(position)::text,
               array_agg(id)::text,
               array_agg(topic)::text,
               array_agg(key)::text
             FROM (SELECT * FROM outbox.{table} WHERE key IS NOT NULL ORDER BY position LIMIT 100) AS s"
        );
        let row = connection.fetch_one(place.sql(&sql)).await.unwrap();
        let column = |at| format!("'{}'", row.get::<String, _>(at));
        Self {
            lanes: column(0),
            positions: column(1),
            ids: column(2),
            topics: column(3),
            keys: column(4),
        }
    }
}

/// Some rows of each table.
#[derive(Debug)]
pub(crate) struct Samples {
    pub(crate) line: Sample,
    pub(crate) waiting: Sample,
    pub(crate) dead: Sample,
    /// The lane of the key with many messages, and its first position.
    pub(crate) one: (i64, i64),
}

impl Samples {
    /// Of tables that are empty.
    pub(crate) fn none() -> Self {
        let empty = || Sample {
            lanes: "'{}'".to_owned(),
            positions: "'{}'".to_owned(),
            ids: "'{}'".to_owned(),
            topics: "'{}'".to_owned(),
            keys: "'{}'".to_owned(),
        };
        Self {
            line: empty(),
            waiting: empty(),
            dead: empty(),
            one: (0, 0),
        }
    }

    pub(crate) async fn of(place: &Place) -> Self {
        let mut connection = place.pool.acquire().await.unwrap();
        let one = "SELECT lane::bigint, min(position) FROM outbox.message WHERE key = 'one' GROUP BY lane";
        let one = connection.fetch_one(place.sql(one)).await.unwrap();
        Self {
            one: (one.get(0), one.get(1)),
            line: Sample::of(place, &mut connection, "message").await,
            waiting: Sample::of(place, &mut connection, "waiting").await,
            dead: Sample::of(place, &mut connection, "dead").await,
        }
    }
}
