//! Which flaw of a publisher fails which cases.

use crate::flaw::Flaw;

/// Which cases fail.
#[derive(Debug, Clone, Copy)]
pub(crate) enum About {
    /// These and no others.
    Only(&'static [&'static str]),
    /// These, and others that nothing of such a publisher is right for.
    Amongst(&'static [&'static str]),
}

/// Which cases fail with which flaw.
#[rustfmt::skip]
pub(crate) const FLAWS: &[(Flaw, About)] = &[
    (Flaw::SendsAhead, About::Only(&[
        "b2_a_message_waits_for_the_confirmation_of_the_one_before",
        "b2_a_refused_message_stops_its_run",
    ])),
    (Flaw::SendsBackwards, About::Amongst(&[
        "b2_runs_of_a_key_arrive_in_their_order",
        "b5_many_runs_at_once_keep_their_order",
    ])),
    (Flaw::OneRunAtATime, About::Only(&[
        "b5_no_run_waits_for_the_confirmation_of_another",
    ])),
    (Flaw::ForgetsTheLast, About::Amongst(&[
        "b1_what_is_confirmed_is_there",
        "b2_runs_of_a_key_arrive_in_their_order",
    ])),
    (Flaw::ConfirmsOnSending, About::Only(&[
        "b1_nothing_is_confirmed_without_an_answer",
        "b2_a_message_waits_for_the_confirmation_of_the_one_before",
    ])),
    (Flaw::LossConfirms, About::Only(&[
        "b1_a_connection_cut_in_a_large_message_confirms_a_prefix_that_is_there",
        "b1_a_connection_cut_in_mid_publish_confirms_a_prefix_that_is_there",
    ])),
    (Flaw::RefusalConfirms, About::Only(&[
        "b2_a_refused_message_stops_its_run",
        "c2_no_name_of_a_header_is_changed",
        "case32_a_payload_of_64_mib_arrives_or_is_too_large",
        "f5_a_refusal_shows_no_payload",
        "f5_a_refused_message_fails_with_its_kind",
        "f5_a_refused_message_judges_only_itself",
    ])),
    (Flaw::RefusalIsUnknown, About::Only(&[
        "b2_a_refused_message_stops_its_run",
        "c2_no_name_of_a_header_is_changed",
        "case32_a_payload_of_64_mib_arrives_or_is_too_large",
        "f5_a_refused_message_fails_with_its_kind",
        "f5_a_refused_message_judges_only_itself",
    ])),
    (Flaw::GoesOnAfterFailure, About::Only(&[
        "b1_a_connection_cut_in_a_large_message_confirms_a_prefix_that_is_there",
        "b1_a_connection_cut_in_mid_publish_confirms_a_prefix_that_is_there",
        "b2_a_refused_message_stops_its_run",
        "f3_a_dropped_connection_is_made_again",
        "f3_a_killed_server_loses_nothing_that_was_confirmed",
    ])),
    (Flaw::RefusalJudgesNeighbors, About::Only(&[
        "f5_a_refused_message_judges_only_itself",
    ])),
    (Flaw::RefusalIsAnOutage, About::Only(&[
        "f5_a_refused_message_judges_only_itself",
    ])),
    (Flaw::ErrorShowsPayload, About::Only(&[
        "f5_a_refusal_shows_no_payload",
    ])),
    (Flaw::PayloadAsText, About::Only(&[
        "case32_any_payload_arrives_as_it_is",
        "case32_payloads_of_a_run_arrive_as_they_are",
        "case32_the_longest_payload_arrives",
    ])),
    (Flaw::PayloadTrimmed, About::Only(&[
        "case32_any_payload_arrives_as_it_is",
        "case32_payloads_of_a_run_arrive_as_they_are",
    ])),
    (Flaw::PayloadCut, About::Only(&[
        "b2_a_refused_message_stops_its_run",
        "case32_a_payload_of_64_mib_arrives_or_is_too_large",
        "case32_the_longest_payload_arrives",
        "f5_a_refusal_shows_no_payload",
        "f5_a_refused_message_fails_with_its_kind",
        "f5_a_refused_message_judges_only_itself",
    ])),
    (Flaw::IdAnew, About::Only(&[
        "c3_the_id_arrives_with_the_message",
    ])),
    (Flaw::ContentTypeDropped, About::Only(&[
        "c2_the_content_type_arrives",
    ])),
    (Flaw::KeyDropped, About::Only(&[
        "c2_no_key_is_changed",
        "c2_the_key_arrives",
        "f5_a_refusal_shows_no_payload",
        "f5_a_refused_message_fails_with_its_kind",
        "f5_a_refused_message_judges_only_itself",
    ])),
    (Flaw::KeyMadeFit, About::Only(&[
        "c2_no_key_is_changed",
    ])),
    (Flaw::HeadersDropped, About::Only(&[
        "b2_a_refused_message_stops_its_run",
        "c2_headers_arrive_or_the_message_is_refused",
        "c2_no_name_of_a_header_is_changed",
        "c2_no_text_of_a_header_is_changed",
        "f5_a_refusal_shows_no_payload",
        "f5_a_refused_message_fails_with_its_kind",
        "f5_a_refused_message_judges_only_itself",
    ])),
    (Flaw::HeadersSorted, About::Only(&[
        "c2_headers_arrive_or_the_message_is_refused",
    ])),
    (Flaw::HeadersUnique, About::Only(&[
        "c2_headers_arrive_or_the_message_is_refused",
    ])),
    (Flaw::HeadersTrimmed, About::Only(&[
        "c2_no_text_of_a_header_is_changed",
    ])),
    (Flaw::HeaderNamesLowered, About::Only(&[
        "c2_no_name_of_a_header_is_changed",
    ])),
    (Flaw::OutageCounts, About::Only(&[
        "b1_a_connection_cut_in_a_large_message_confirms_a_prefix_that_is_there",
        "b1_a_connection_cut_in_mid_publish_confirms_a_prefix_that_is_there",
        "check_tells_that_the_door_is_closed",
        "check_tells_that_the_server_is_away",
        "f3_a_dropped_connection_is_made_again",
        "f3_a_killed_server_loses_nothing_that_was_confirmed",
        "f3_a_server_that_goes_away_is_unavailable_until_it_comes_back",
        "f3_a_server_that_is_away_at_first_is_unavailable_until_it_comes",
        "f3_a_server_that_is_not_trusted_is_unavailable",
        "f3_refused_credentials_are_unavailable",
    ])),
    (Flaw::GivesUpAtFirst, About::Only(&[
        "check_tells_that_the_server_is_away",
        "f3_a_server_that_is_away_at_first_is_unavailable_until_it_comes",
    ])),
    (Flaw::NeverReconnects, About::Only(&[
        "b1_a_connection_cut_in_a_large_message_confirms_a_prefix_that_is_there",
        "b1_a_connection_cut_in_mid_publish_confirms_a_prefix_that_is_there",
        "f3_a_dropped_connection_is_made_again",
        "f3_a_killed_server_loses_nothing_that_was_confirmed",
        "f3_a_server_that_goes_away_is_unavailable_until_it_comes_back",
        "messages_arrive_over_tls",
    ])),
    (Flaw::BrokerForgets, About::Only(&[
        "f3_a_killed_server_loses_nothing_that_was_confirmed",
    ])),
    (Flaw::MissingCounts, About::Only(&[
        "check_names_a_missing_destination",
        "f3_a_destination_that_is_removed_is_unavailable_by_name_until_it_is_back",
        "f3_a_missing_destination_is_unavailable_by_name_until_it_appears",
    ])),
    (Flaw::MissingNameless, About::Only(&[
        "check_names_a_missing_destination",
        "f3_a_destination_that_is_removed_is_unavailable_by_name_until_it_is_back",
        "f3_a_missing_destination_is_unavailable_by_name_until_it_appears",
    ])),
    (Flaw::MissingForEver, About::Only(&[
        "check_names_a_missing_destination",
        "f3_a_destination_that_is_removed_is_unavailable_by_name_until_it_is_back",
        "f3_a_missing_destination_is_unavailable_by_name_until_it_appears",
    ])),
    (Flaw::RefusedCredentialsCount, About::Only(&[
        "check_tells_that_the_door_is_closed",
        "f3_refused_credentials_are_unavailable",
    ])),
    (Flaw::ErrorShowsPassword, About::Only(&[
        "check_tells_that_the_door_is_closed",
        "f3_refused_credentials_are_unavailable",
        "no_text_shows_a_secret",
    ])),
    (Flaw::DebugShowsPassword, About::Only(&[
        "no_text_shows_a_secret",
    ])),
    (Flaw::NameShowsPassword, About::Only(&[
        "no_text_shows_a_secret",
    ])),
    (Flaw::NoTls, About::Only(&[
        "messages_arrive_over_tls",
    ])),
    (Flaw::TrustsEverybody, About::Only(&[
        "check_tells_that_the_door_is_closed",
        "f3_a_server_that_is_not_trusted_is_unavailable",
    ])),
    (Flaw::CanceledCallHangs, About::Only(&[
        "b1_nothing_is_confirmed_without_an_answer",
        "b2_a_message_waits_for_the_confirmation_of_the_one_before",
        "b4_a_call_can_be_dropped_at_any_wait",
        "b4_a_first_call_can_be_dropped_at_any_wait",
        "b4_calls_over_a_stalled_connection_can_be_dropped",
        "b4_calls_that_are_dropped_hurt_no_others",
        "b4_calls_to_a_frozen_server_can_be_dropped",
        "b5_no_run_waits_for_the_confirmation_of_another",
        "f3_a_server_that_was_silent_for_a_whole_timeout_is_used_again",
    ])),
    (Flaw::CanceledConnectHangs, About::Only(&[
        "b4_a_first_call_can_be_dropped_at_any_wait",
        "b4_calls_over_a_stalled_connection_can_be_dropped",
        "b4_calls_to_a_frozen_server_can_be_dropped",
    ])),
    (Flaw::CanceledCallCuts, About::Only(&[
        "b4_calls_that_are_dropped_hurt_no_others",
    ])),
    (Flaw::NameChanges, About::Only(&[
        "f3_a_destination_has_one_name",
    ])),
    (Flaw::CheckSaysYes, About::Only(&[
        "check_names_a_missing_destination",
        "check_tells_that_the_door_is_closed",
        "check_tells_that_the_server_is_away",
    ])),
    (Flaw::CheckPublishes, About::Only(&[
        "check_says_yes_and_publishes_nothing",
    ])),
];
