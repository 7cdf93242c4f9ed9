//! The same on Postgres: the main job, what goes wrong, several relays, the demo. The server is the one that `OUTBOX_TEST_POSTGRES` names.

mod errors;
mod main_job;
mod relays;
mod status;
