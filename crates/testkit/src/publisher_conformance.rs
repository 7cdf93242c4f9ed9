//! The macro that turns the cases of the publisher suite into tests of one publisher.

use std::{future::Future, pin::Pin};

/// Expands to one `#[test]` for each case of the suite, run with a fresh destination of this [`PublisherHarness`](crate::PublisherHarness).
///
/// Every publisher that passes keeps the obligations of [`Publisher`](outbox_publisher::Publisher), and F1 to F5 of the contract as far
/// as they concern a publisher. Where brokers differ the harness says so by its [`PublisherCapabilities`](crate::PublisherCapabilities).
///
/// ```text
/// // crates/publisher-mine/tests/conformance.rs
/// outbox_testkit::publisher_conformance!(MyHarness);
/// ```
#[macro_export]
macro_rules! publisher_conformance {
    ($harness:ty) => {
        $crate::publisher_conformance! { @cases tests $harness }
    };
    (@cases $form:ident $harness:ty) => {
        $crate::publisher_conformance! {
            @$form $harness;
            order:
                b2_runs_of_a_key_arrive_in_their_order,
                b2_a_message_waits_for_the_confirmation_of_the_one_before,
                b5_many_runs_at_once_keep_their_order,
                b5_no_run_waits_for_the_confirmation_of_another;
            confirming:
                b1_what_is_confirmed_is_there,
                b1_nothing_is_confirmed_without_an_answer,
                b1_a_connection_cut_in_mid_publish_confirms_a_prefix_that_is_there,
                b1_a_connection_cut_in_a_large_message_confirms_a_prefix_that_is_there;
            refusing:
                f5_a_refused_message_fails_with_its_kind,
                b2_a_refused_message_stops_its_run,
                f5_a_refused_message_judges_only_itself,
                f5_a_refusal_shows_no_payload;
            verbatim:
                case32_any_payload_arrives_as_it_is,
                case32_payloads_of_a_run_arrive_as_they_are,
                case32_the_longest_payload_arrives,
                case32_a_payload_of_64_mib_arrives_or_is_too_large,
                c3_the_id_arrives_with_the_message,
                c2_the_content_type_arrives,
                c2_the_key_arrives,
                c2_no_key_is_changed,
                c2_headers_arrive_or_the_message_is_refused,
                c2_no_text_of_a_header_is_changed,
                c2_no_name_of_a_header_is_changed;
            healing:
                f3_a_server_that_is_away_at_first_is_unavailable_until_it_comes,
                f3_a_server_that_goes_away_is_unavailable_until_it_comes_back,
                f3_a_dropped_connection_is_made_again,
                f3_a_killed_server_loses_nothing_that_was_confirmed,
                b4_calls_to_a_frozen_server_can_be_dropped,
                b4_calls_over_a_stalled_connection_can_be_dropped,
                f3_a_server_that_was_silent_for_a_whole_timeout_is_used_again;
            missing:
                f3_a_missing_destination_is_unavailable_by_name_until_it_appears,
                f3_a_destination_that_is_removed_is_unavailable_by_name_until_it_is_back;
            doors:
                f3_refused_credentials_are_unavailable,
                messages_arrive_over_tls,
                f3_a_server_that_is_not_trusted_is_unavailable,
                no_text_shows_a_secret;
            canceling:
                b4_a_call_can_be_dropped_at_any_wait,
                b4_a_first_call_can_be_dropped_at_any_wait,
                b4_calls_that_are_dropped_hurt_no_others;
            checking:
                f3_a_destination_has_one_name,
                check_says_yes_and_publishes_nothing,
                check_tells_that_the_server_is_away,
                check_names_a_missing_destination,
                check_tells_that_the_door_is_closed;
        }
    };
    (@tests $harness:ty; $($noun:ident: $($case:ident),+;)+) => {
        $($(
            #[test]
            fn $case() {
                $crate::run_publisher_case($crate::publisher_cases::$noun::$case::<$harness>());
            }
        )+)+
    };
    (@list $harness:ty; $($noun:ident: $($case:ident),+;)+) => {
        [$($(
            $crate::PublisherCase {
                name: stringify!($case),
                run: || Box::pin($crate::publisher_cases::$noun::$case::<$harness>()),
            },
        )+)+]
    };
}

/// A case by its name, for those who test the suite.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct PublisherCase {
    /// The name of the test.
    pub name: &'static str,
    /// Makes a fresh run of it.
    pub run: fn() -> Pin<Box<dyn Future<Output = ()>>>,
}

/// Runs one case on a runtime of its own. A harness may block a thread while the client's tasks go on.
#[doc(hidden)]
pub fn run_publisher_case(case: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("the operating system gives what a runtime needs")
        .block_on(case);
}
