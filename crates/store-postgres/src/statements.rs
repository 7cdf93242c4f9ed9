//! The statements as files of SQL, each with the name of the schema put in once, when a store is opened.

use outbox_migrations::SchemaName;

use crate::session::Text;

/// Declares the statements: a field for each, and the file it comes from.
macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// The statements of one schema. Each file says what it does and which index serves it.
        #[derive(Debug)]
        pub struct Statements {
            $($(#[$doc])* pub(crate) $name: Text,)+
        }

        impl Statements {
            /// Puts the name of the schema into every statement.
            pub fn new(schema: &SchemaName) -> Self {
                Self {
                    $($name: Text::from(schema.apply(include_str!(concat!("sql/", stringify!($name), ".sql")))),)+
                }
            }

            /// Every statement with its name, for tests that look at plans.
            pub fn all(&self) -> Vec<(&'static str, &Text)> {
                vec![$((stringify!($name), &self.$name),)+]
            }
        }
    };
}

statements! {
    // Transactions and the schema's version.
    begin,
    begin_migration,
    schema_exists,
    schema_lock,
    schema_server,
    schema_version,
    // Claims.
    block_busy,
    delete_empty_blocks,
    lease,
    leave_lanes,
    load,
    look_ahead,
    look_line,
    promote,
    read_line,
    read_on,
    read_waiting,
    set_aside,
    set_aside_topics,
    stop_keys,
    // Settlements.
    block_keys,
    bury,
    complete_care,
    confirmed_elsewhere,
    confirmed_elsewhere_keep,
    count_failures,
    fence,
    fence_keep,
    free_keys,
    schedule,
    take_marks_back,
    // Leases.
    circuit_closed,
    circuit_open,
    extend,
    start_mark,
    // Stopped topics.
    end_stops,
    ended_topics,
    free_lanes,
    let_through,
    pause_topic,
    probe_lane,
    resume_topic,
    start_topics,
    stop_topics,
    // Saves.
    lock_order,
    pending,
    save,
    save_all,
    save_and_notify,
    save_now,
    // Upkeep.
    add_partitions,
    drop_partitions,
    forget_circuits,
    forget_ids,
    forget_published,
    heal_floors,
    purge_count,
    purge_published,
    upkeep_done,
    upkeep_lock,
    upkeep_turn,
    // The inbox.
    dead_oldest,
    inbox_count,
    inbox_forget,
    inbox_once,
    inbox_purge,
    // Operators.
    audit_note,
    audit_page,
    begin_read,
    dead_count_all,
    dead_count_id,
    dead_count_key,
    dead_letters,
    dead_page_all,
    dead_page_id,
    dead_page_key,
    discard,
    lock_lanes,
    redrive,
    replay,
    replay_page,
    retry_now,
    // Status.
    status_blocked,
    status_circuits,
    status_horizon,
    status_lanes,
    status_moment,
    status_stopped,
    status_topics,
}
