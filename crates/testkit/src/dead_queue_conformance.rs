//! The macro that turns the cases for dead-letter queues into tests of one broker.

/// Expands to one `#[test]` for each case, run with fresh queues of this [`DeadQueueHarness`](crate::DeadQueueHarness).
///
/// Every broker that passes keeps the obligations of [`DeadQueue`](outbox_publisher::DeadQueue), and a
/// [`Redrive`](outbox_publisher::Redrive) over it loses nothing.
///
/// ```text
/// // crates/publisher-mine/tests/dead_queue.rs
/// outbox_testkit::dead_queue_conformance!(MyHarness);
/// ```
#[macro_export]
macro_rules! dead_queue_conformance {
    ($harness:ty) => {
        $crate::dead_queue_conformance! {
            @tests $harness;
            q1_reading_removes_nothing,
            q1_what_was_read_is_there_after_a_crash,
            q2_what_comes_later_is_not_read,
            q2_a_source_that_dead_letters_at_once_is_no_loop,
            q3_what_is_left_stays_in_its_order,
            a_letter_has_the_parts_of_its_message,
            a_publish_that_fails_in_the_middle_loses_nothing,
            what_the_broker_can_never_take_is_left_and_the_rest_goes_on,
            a_crash_between_confirmation_and_removal_loses_nothing,
            a_connection_lost_between_confirmation_and_removal_loses_nothing,
            two_redrives_at_once_lose_nothing,
        }
    };
    (@tests $harness:ty; $($case:ident),+ $(,)?) => {
        $(
            #[test]
            fn $case() {
                $crate::run_publisher_case($crate::dead_queue_cases::$case::<$harness>());
            }
        )+
    };
}
