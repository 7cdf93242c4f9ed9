//! Upkeep by whichever relay gets to it, partitions of published messages, and the purge by hand.

use std::time::Duration;

use outbox_store::{OutboxOperator, OutboxStore, Purge, PurgeMode, Purged};
use outbox_store_postgres_sqlx::{PostgresConfig, PostgresStore};
use sqlx::{AssertSqlSafe, Executor};

use crate::scratch::{Scratch, message};

const DAY: Duration = Duration::from_hours(24);

/// A store that keeps published messages for a week; its sessions live in another time zone.
async fn keeping() -> Scratch {
    let config = PostgresConfig {
        retain: Some(7 * DAY),
        ..PostgresConfig::default()
    };
    let scratch = Scratch::with(config, 5, |options| {
        options.options([("TimeZone", "Asia/Tokyo")])
    })
    .await;
    scratch
        .schema
        .run(
            "CREATE FUNCTION outbox.test_partition(day date) RETURNS void LANGUAGE plpgsql AS $$
             DECLARE name text := 'outbox.published_' || to_char(day, 'YYYYMMDD');
             BEGIN
               EXECUTE 'CREATE TABLE ' || name || ' (LIKE outbox.published INCLUDING ALL)';
               EXECUTE 'ALTER TABLE outbox.published ATTACH PARTITION ' || name || ' FOR VALUES FROM (' || quote_literal(day || ' 00:00:00+00') || ') TO (' || quote_literal(day + 1 || ' 00:00:00+00') || ')';
             END $$;
             CREATE FUNCTION outbox.test_publish(n bigint, at timestamptz) RETURNS void LANGUAGE sql AS $$
               INSERT INTO outbox.published (position, attempts, tries, saved_at, published_at, lane, id, topic, payload) VALUES (n, 0, 0, at, at, 0, 'i', 't', '');
             $$",
        )
        .await;
    scratch
}

async fn maintain(store: &PostgresStore) -> usize {
    store.maintain().await.unwrap()
}

/// Lets upkeep be done again.
async fn a_minute_later(scratch: &Scratch) {
    scratch
        .schema
        .run("UPDATE outbox.upkeep SET done_at = done_at - interval '1 minute'")
        .await;
}

/// The days of the partitions, as they stand in their names and as they are.
async fn partitions(scratch: &Scratch) -> Vec<(String, String)> {
    let mut connection = scratch.schema.pool.acquire().await.unwrap();
    connection.execute("SET TIME ZONE 'UTC'").await.unwrap();
    let partitions = sqlx::query_as(scratch.schema.sql(
        "SELECT right(c.relname, 8), substring(pg_get_expr(c.relpartbound, c.oid) FROM 'FROM \\(''(.*)''\\) TO')
         FROM pg_inherits AS i
         JOIN pg_class AS c ON c.oid = i.inhrelid
         WHERE i.inhparent = 'outbox.published'::regclass
           AND c.relname <> 'published_default'
         ORDER BY 1",
    ));
    let partitions = partitions.fetch_all(&mut *connection).await.unwrap();
    connection.execute("RESET TIME ZONE").await.unwrap();
    partitions
}

/// Case 31: days are those of UTC, whatever zone a session is in.
#[tokio::test]
async fn the_partitions_of_the_next_days_are_added_before_they_begin() {
    let scratch = keeping().await;
    assert_eq!(maintain(&scratch.store).await, 0);
    let days = sqlx::query_as::<_, (String, String)>(
        "SELECT to_char(day, 'YYYYMMDD'), to_char(day, 'YYYY-MM-DD 00:00:00+00')
         FROM (SELECT (now() AT TIME ZONE 'UTC' + interval '1 hour')::date + n AS day FROM generate_series(1, 30) AS n) AS days",
    );
    let days = days.fetch_all(&scratch.schema.pool).await.unwrap();
    assert_eq!(partitions(&scratch).await, days);
    a_minute_later(&scratch).await;
    assert_eq!(maintain(&scratch.store).await, 0);
    assert_eq!(partitions(&scratch).await, days);
}

#[tokio::test]
async fn without_retention_there_are_no_partitions() {
    let scratch = Scratch::new().await;
    assert_eq!(maintain(&scratch.store).await, 0);
    assert!(partitions(&scratch).await.is_empty());
}

#[tokio::test]
async fn a_day_that_cannot_have_its_partition_is_kept_in_the_default_one() {
    let scratch = keeping().await;
    scratch
        .schema
        .run("SELECT outbox.test_publish(1, now() + interval '1 day 1 hour')")
        .await;
    maintain(&scratch.store).await;
    assert_eq!(partitions(&scratch).await.len(), 29);
    scratch.save(&[message(Some("k"), "a")]).await;
    assert_eq!(scratch.drain().await, [b"a"]);
    assert_eq!(
        scratch
            .schema
            .count("SELECT count(*) FROM outbox.published")
            .await,
        2
    );
}

#[tokio::test]
async fn partitions_are_dropped_when_their_last_message_is_old_enough() {
    let scratch = keeping().await;
    scratch
        .schema
        .run(
            "SELECT outbox.test_partition((now() AT TIME ZONE 'UTC')::date - n) FROM unnest(ARRAY[20, 8, 7]) AS n;
             SELECT outbox.test_publish(1, now() - interval '20 days'), outbox.test_publish(2, now() - interval '7 days')",
        )
        .await;
    assert_eq!(
        maintain(&scratch.store).await,
        2,
        "the days that ended more than a week ago"
    );
    assert_eq!(
        partitions(&scratch).await.len(),
        31,
        "a week ago, and the next days"
    );
    assert_eq!(
        scratch
            .schema
            .count("SELECT position FROM outbox.published")
            .await,
        2
    );
}

/// A partition is not added over the head of a settlement that keeps a message in the default one; neither fails.
#[tokio::test]
async fn a_settlement_under_way_and_new_partitions_do_not_fail_each_other() {
    let scratch = keeping().await;
    let mut settlement = scratch.schema.pool.begin().await.unwrap();
    let keep = "SELECT outbox.test_publish(1, now())";
    settlement
        .execute(sqlx::raw_sql(scratch.schema.sql(keep)))
        .await
        .unwrap();
    assert_eq!(maintain(&scratch.store).await, 0);
    assert!(partitions(&scratch).await.is_empty());
    settlement.commit().await.unwrap();
    a_minute_later(&scratch).await;
    assert_eq!(maintain(&scratch.store).await, 0);
    assert_eq!(partitions(&scratch).await.len(), 30);
    let kept = "SELECT count(*) FROM outbox.published";
    assert_eq!(scratch.schema.count(kept).await, 1);
}

/// A partition that somebody reads stays for the next time, and nobody waits for it.
#[tokio::test]
async fn a_partition_that_is_in_use_is_dropped_later() {
    let scratch = keeping().await;
    scratch.schema.run("SELECT outbox.test_partition('2020-02-29'), outbox.test_publish(1, '2020-02-29 12:00Z')").await;
    let mut reader = scratch.schema.pool.begin().await.unwrap();
    let read = "SELECT count(*) FROM outbox.published";
    reader
        .execute(sqlx::raw_sql(scratch.schema.sql(read)))
        .await
        .unwrap();
    assert_eq!(maintain(&scratch.store).await, 0);
    assert_eq!(scratch.schema.count(read).await, 1);
    // By hand it goes on row by row meanwhile.
    let purge = Purge {
        older_than: 7 * DAY,
        inbox_older_than: None,
        limit: 10,
        mode: PurgeMode::Delete,
    };
    let purged = scratch.store.purge(&purge).await.unwrap();
    assert_eq!(
        purged,
        Purged {
            published: 1,
            ..Purged::default()
        }
    );
    reader.rollback().await.unwrap();
    a_minute_later(&scratch).await;
    assert_eq!(maintain(&scratch.store).await, 1);
}

/// A relay whose role owns nothing keeps published messages in the default partition, and removes them there.
#[tokio::test]
async fn a_role_that_owns_no_tables_keeps_house_without_partitions() {
    let scratch = keeping().await;
    let role = format!("role-{:016x}", rand::random::<u64>());
    let grants = format!(
        r#"CREATE ROLE "{role}";
           GRANT USAGE ON SCHEMA {schema} TO "{role}";
           GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO "{role}";
           GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO "{role}""#,
        schema = scratch.schema.name.quoted(),
    );
    scratch
        .schema
        .pool
        .execute(sqlx::raw_sql(AssertSqlSafe(grants)))
        .await
        .unwrap();
    scratch
        .schema
        .run(
            "SELECT outbox.test_partition('2020-02-29'), outbox.test_publish(1, '2020-02-29 12:00Z');
             SELECT outbox.test_publish(n, now() - interval '8 days') FROM generate_series(2, 4) AS n;
             SELECT outbox.test_publish(5, now())",
        )
        .await;
    let options = crate::schema::server().options([("role", &role)]);
    let pool = crate::schema::pool(options);
    let config = PostgresConfig {
        schema: scratch.schema.name.clone(),
        retain: Some(7 * DAY),
        ..PostgresConfig::default()
    };
    let store = PostgresStore::open_with(pool, config).await.unwrap();
    assert_eq!(maintain(&store).await, 3);
    assert_eq!(
        partitions(&scratch).await.len(),
        1,
        "none added, none dropped"
    );
    let purge = Purge {
        older_than: 7 * DAY,
        inbox_older_than: None,
        limit: 10,
        mode: PurgeMode::Delete,
    };
    let purged = store.purge(&purge).await.unwrap();
    assert_eq!((purged.published, purged.partitions), (1, 0), "row by row");
    let drop = format!(r#"DROP OWNED BY "{role}"; DROP ROLE "{role}""#);
    scratch
        .schema
        .pool
        .execute(sqlx::raw_sql(AssertSqlSafe(drop)))
        .await
        .unwrap();
}

#[tokio::test]
async fn upkeep_goes_in_bounded_steps_once_a_minute_for_all_relays() {
    let scratch = keeping().await;
    scratch
        .schema
        .run(
            "INSERT INTO outbox.saved_id SELECT 'i' || n, now() - interval '1 hour' FROM generate_series(1, 10500) AS n;
             INSERT INTO outbox.saved_id VALUES ('remembered', now() + interval '1 hour');
             SELECT outbox.test_publish(n, now() - interval '8 days') FROM generate_series(1, 1100) AS n",
        )
        .await;
    // While a relay is at it the others have nothing to do.
    let mut at_it = scratch.schema.pool.begin().await.unwrap();
    let turn = "SELECT FROM outbox.upkeep FOR UPDATE";
    at_it
        .execute(sqlx::raw_sql(scratch.schema.sql(turn)))
        .await
        .unwrap();
    assert_eq!(maintain(&scratch.store).await, 0);
    at_it.rollback().await.unwrap();
    // A step that met its limit is followed by another at once, up to ten, and then the next upkeep may come at once.
    assert_eq!(maintain(&scratch.store).await, 11_100);
    assert_eq!(maintain(&scratch.store).await, 500);
    scratch
        .schema
        .run("INSERT INTO outbox.saved_id VALUES ('late', now())")
        .await;
    assert_eq!(maintain(&scratch.store).await, 0);
    a_minute_later(&scratch).await;
    assert_eq!(maintain(&scratch.store).await, 1);
    assert_eq!(
        scratch
            .schema
            .count("SELECT count(*) FROM outbox.saved_id")
            .await,
        1
    );
}

/// An id that a save is renewing is not forgotten, and the save not held up.
#[tokio::test]
async fn upkeep_passes_an_id_that_is_being_saved() {
    let scratch = Scratch::new().await;
    scratch.schema.run("INSERT INTO outbox.saved_id VALUES ('one', now() - interval '1 hour'), ('two', now() - interval '1 hour')").await;
    let mut tx = scratch.schema.pool.begin().await.unwrap();
    let save = "SELECT outbox.save('t', 'x', id => 'one', once => '1 day')";
    tx.execute(sqlx::raw_sql(scratch.schema.sql(save)))
        .await
        .unwrap();
    assert_eq!(maintain(&scratch.store).await, 1);
    tx.commit().await.unwrap();
    let left = "SELECT count(*) FROM outbox.saved_id WHERE id = 'one' AND expires_at > now()";
    assert_eq!(scratch.schema.count(left).await, 1);
}

#[tokio::test]
async fn a_purge_drops_whole_partitions_before_it_deletes_rows() {
    let scratch = keeping().await;
    scratch
        .schema
        .run(
            "SELECT outbox.test_partition(day::date) FROM generate_series('2020-01-01', '2020-01-20', interval '1 day') AS day;
             SELECT outbox.test_publish(extract(day FROM day)::bigint, day + interval '12 hours') FROM generate_series(timestamptz '2020-01-01Z', '2020-01-20Z', '1 day') AS day;
             SELECT outbox.test_publish(100 + n, '2019-12-24') FROM generate_series(1, 3) AS n;
             SELECT outbox.test_publish(200, now())",
        )
        .await;
    let mut purge = Purge {
        older_than: DAY,
        inbox_older_than: None,
        limit: 1_000,
        mode: PurgeMode::Count,
    };
    let found = Purged {
        published: 3,
        partitions: 20,
        ..Purged::default()
    };
    assert_eq!(scratch.store.purge(&purge).await.unwrap(), found);
    assert_eq!(
        scratch
            .schema
            .count("SELECT count(*) FROM outbox.published")
            .await,
        24
    );
    purge.mode = PurgeMode::Delete;
    let mut steps = Vec::new();
    while steps.last().is_none_or(|step: &Purged| step.more) {
        steps.push(scratch.store.purge(&purge).await.unwrap());
    }
    let dropped = |partitions| Purged {
        partitions,
        more: true,
        ..Purged::default()
    };
    let rows = Purged {
        published: 3,
        ..Purged::default()
    };
    assert_eq!(steps, [dropped(16), dropped(4), rows]);
    assert_eq!(
        scratch
            .schema
            .count("SELECT position FROM outbox.published")
            .await,
        200
    );
}

/// To attach a partition the server scans the default one and lets nobody write to it meanwhile: that must not take long.
#[tokio::test]
async fn a_large_default_partition_gets_no_partitions_beside_it_and_upkeep_goes_on() {
    let scratch = keeping().await;
    scratch
        .schema
        .run(
            "ALTER TABLE outbox.published_default ALTER payload SET STORAGE PLAIN;
             INSERT INTO outbox.published (position, attempts, tries, saved_at, published_at, lane, id, topic, payload)
             SELECT n, 0, 0, now(), now(), 0, 'i', 't', convert_to(repeat('x', 7000), 'UTF8') FROM generate_series(1, 8300) AS n;
             SELECT outbox.test_publish(9000, now() - interval '8 days');
             INSERT INTO outbox.saved_id VALUES ('over', now() - interval '1 hour')",
        )
        .await;
    assert_eq!(maintain(&scratch.store).await, 2);
    assert!(partitions(&scratch).await.is_empty());
    scratch
        .schema
        .run("TRUNCATE outbox.published_default")
        .await;
    a_minute_later(&scratch).await;
    assert_eq!(maintain(&scratch.store).await, 0);
    assert_eq!(partitions(&scratch).await.len(), 30);
}

#[tokio::test]
async fn partitions_that_fail_are_told_and_undo_nothing_else() {
    let scratch = keeping().await;
    scratch
        .schema
        .run(
            "CREATE OR REPLACE FUNCTION outbox.add_partitions() RETURNS integer LANGUAGE plpgsql AS $$
             BEGIN RAISE query_canceled; END $$;
             SELECT outbox.test_publish(1, now() - interval '8 days');
             INSERT INTO outbox.saved_id VALUES ('over', now() - interval '1 hour')",
        )
        .await;
    assert!(scratch.store.maintain().await.is_err());
    let left =
        "SELECT (SELECT count(*) FROM outbox.saved_id) + (SELECT count(*) FROM outbox.published)";
    assert_eq!(scratch.schema.count(left).await, 0);
    assert_eq!(maintain(&scratch.store).await, 0, "it is done for a minute");
}
