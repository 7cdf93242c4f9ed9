//! The Postgres store of the outbox toolkit, through diesel and diesel-async.
