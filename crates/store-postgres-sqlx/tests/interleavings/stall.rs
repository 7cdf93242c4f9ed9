//! A statement that is held while it runs: its snapshot is taken, and what it does comes later.
//!
//! The sessions of a stalled relay find functions of the test's schema before those of the server, and these wait for a lock that the test has.

use outbox_store_postgres::Connection;
use sqlx::{Executor, Postgres, pool::PoolConnection};

use crate::{relay::Relay, scene::Scene};

/// While it lasts, statements of stalled relays wait.
pub(crate) struct Stall {
    session: PoolConnection<Postgres>,
    key: i64,
}

/// A function that a lease calls.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stalled {
    /// Its snapshot is taken, and nothing is locked or changed.
    Snapshot,
    /// Its lanes are locked as well, and nothing is changed.
    Locks,
}

impl Stall {
    /// Leases wait after their snapshot.
    pub(crate) async fn of_leases(scene: &Scene) -> Self {
        Self::of(scene, Stalled::Snapshot).await
    }

    /// Leases wait at this moment.
    pub(crate) async fn of(scene: &Scene, at: Stalled) -> Self {
        let key: i64 = rand::random();
        let (name, answers) = match at {
            Stalled::Snapshot => ("gen_random_uuid", "uuid"),
            Stalled::Locks => ("clock_timestamp", "timestamptz"),
        };
        scene
            .run(&format!(
                "CREATE OR REPLACE FUNCTION outbox.{name}() RETURNS {answers} LANGUAGE plpgsql VOLATILE
                 AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared({key}); RETURN pg_catalog.{name}(); END $$"
            ))
            .await;
        let mut session = scene.pool.acquire().await.unwrap();
        let lock = scene.sql(&format!("SELECT pg_advisory_lock({key})"));
        session.execute(lock).await.unwrap();
        Self { session, key }
    }

    pub(crate) async fn end(mut self, scene: &Scene) {
        let unlock = scene.sql(&format!("SELECT pg_advisory_unlock({})", self.key));
        self.session.execute(unlock).await.unwrap();
    }
}

impl Scene {
    /// A relay whose statements can be stalled.
    pub(crate) fn stalled(&self, name: &str) -> Relay {
        let path = format!("{},pg_catalog", self.name.as_str());
        let server = self.server.clone().options([("search_path", path)]);
        // A prepared statement would keep the functions that it was parsed with.
        Relay::new(self, name, server, Connection::Pooler)
    }
}
