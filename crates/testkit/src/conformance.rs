//! The macro that turns the suite's cases into tests of one store.

use std::future::Future;

/// Expands to one `#[test]` for each case of the suite, run on a fresh store of this [`Harness`](crate::Harness), and one
/// that drives such stores through random histories beside a pure model (`OUTBOX_PROPTEST_CASES` of them, 100 by default).
///
/// Every store that passes keeps the rules of the contract that concern a store. Where stores may differ the harness says
/// so by its [`Capabilities`](crate::Capabilities).
///
/// ```text
/// // crates/store-mine/tests/conformance.rs
/// outbox_testkit::conformance!(MyHarness);
/// ```
#[macro_export]
macro_rules! conformance {
    ($harness:ty) => {
        $crate::conformance! {
            @cases $harness;
            writing:
                c1_a_committed_save_is_handed_out,
                c1_a_rolled_back_save_is_never_seen,
                c1_a_save_is_invisible_until_its_transaction_commits,
                c1_a_save_without_a_transaction_is_refused,
                c1_all_saves_of_a_transaction_share_its_end,
                c1_an_open_transaction_sees_its_own_pending_messages,
                c4_a_payload_over_the_limit_is_refused_and_the_transaction_lives,
                o10_positions_grow_in_the_order_of_saving,
                o10_save_all_of_nothing_does_nothing,
                case2_two_messages_of_one_key_in_one_transaction_keep_their_order,
                o10_a_save_in_commit_order_is_stored,
                case1_a_transaction_that_commits_late_is_not_skipped,
                case1_saves_in_commit_order_wait_for_each_other,
                o10_one_call_saves_any_number_of_messages;
            verbatim:
                case32_any_payload_survives,
                case32_a_payload_of_64_mib_survives,
                c2_headers_keep_order_repetition_and_any_text,
                c2_a_bare_message_stays_bare,
                c4_parts_at_their_limits_are_stored,
                case32_the_longest_key_survives_failure_and_retry,
                c3_a_message_stays_itself_over_retry_crash_and_redrive,
                c3_a_plain_save_does_not_look_at_ids,
                case32_an_error_text_with_nul_is_recorded;
            once:
                c3_an_idempotent_save_stores_one_message_for_one_id,
                c3_an_id_is_remembered_after_its_message_was_published,
                c3_a_duplicate_leaves_its_transaction_usable,
                c3_a_rolled_back_idempotent_save_is_not_remembered,
                c3_a_plain_save_is_not_remembered,
                c3_an_id_is_forgotten_after_its_remembered_time,
                c3_upkeep_removes_only_forgotten_ids,
                c3_any_remembered_time_is_taken;
            order:
                o1_an_empty_store_hands_out_nothing,
                o4_a_claim_hands_out_a_whole_run_in_order,
                o4_a_run_that_was_cut_goes_on_where_it_was_cut,
                o3_a_held_key_is_nobody_elses,
                case4_of_many_claims_at_once_one_gets_the_key,
                o3_claims_at_once_share_no_lane,
                o5_a_retry_gives_back_the_rest_untried,
                o5_a_run_goes_on_from_the_message_that_failed,
                o2_the_same_key_of_two_topics_is_two_ordering_keys,
                o7_a_waiting_key_delays_nobody_else,
                case11_messages_behind_a_batch_of_failures_go_out,
                case11_unkeyed_failures_fill_no_batch_again,
                case10_a_failure_in_a_batch_leaves_the_others_alone,
                o2_a_retry_in_place_keeps_the_order_of_its_lane,
                o7_no_lane_starves_beside_busy_ones,
                o7_a_claim_leases_only_lanes_it_may,
                case8_unkeyed_messages_block_each_other_nowhere;
            waiting:
                case3_nothing_passes_a_waiting_head,
                o6_a_head_that_fails_again_holds_on,
                o6_a_smaller_position_that_arrives_goes_first_at_the_due_time,
                p3_a_message_is_set_aside_once,
                p3_a_lane_that_gives_nothing_is_given_back_in_the_claim,
                case36_a_hidden_earlier_message_is_not_overtaken_by_its_head,
                case36_a_message_hidden_by_bytes_is_not_overtaken_by_its_head,
                case38_many_due_keys_do_not_overfill_a_claim,
                o7_a_due_key_and_the_line_share_a_claim,
                o6_a_key_whose_head_went_out_is_free_again,
                o6_a_block_whose_messages_are_gone_does_not_last,
                o9_a_hold_lasts_without_messages,
                o6_the_rest_of_a_waiting_line_follows_its_head,
                f8_a_waiting_head_retried_in_place_stays_due_and_first,
                o6_the_next_due_time_of_a_waiting_key_is_told,
                o6_an_operator_makes_a_waiting_key_due;
            scheduled:
                o1_a_scheduled_message_joins_when_due_never_early,
                o1_a_message_that_is_due_takes_no_other_along,
                o8_a_scheduled_message_does_not_hold_its_key,
                o8_a_message_that_joins_takes_its_place_by_position,
                o3_a_message_that_joins_waits_for_the_holder_of_its_key,
                o8_an_absolute_time_is_kept_and_a_past_one_is_now,
                o8_a_delay_of_zero_is_at_once,
                o8_the_longest_delay_is_a_year,
                o8_the_next_due_time_of_a_scheduled_message_is_told,
                o6_a_message_that_joins_a_waiting_key_is_set_aside,
                o8_an_unkeyed_retry_comes_back_at_its_time,
                case37_many_scheduled_messages_fall_due_at_once,
                o1_what_falls_due_is_handed_out_by_the_claim_that_promotes_it;
            retry:
                f1_a_counted_failure_raises_attempts_and_tries,
                f3_a_release_counts_nothing,
                f8_a_retry_without_a_time_stays_due,
                case39_of_several_retries_of_a_key_the_smallest_position_counts,
                case39_the_smallest_position_counts_in_a_waiting_line_too,
                case39_any_delay_settles_and_is_clamped,
                case21_the_shortest_delay_settles,
                case39_counters_at_their_limit_saturate,
                f1_a_death_counts_its_failure,
                f7_the_last_error_is_kept_with_the_message;
            dead:
                case7_under_skip_the_key_goes_on,
                case7_under_hold_the_key_waits_and_shows,
                case7_a_redrive_under_skip_goes_to_the_tail_and_warns,
                o9_a_redrive_under_hold_keeps_the_position_and_goes_first,
                case40_a_lone_dead_letter_holds_what_comes_later,
                case40_discarding_the_holding_letter_frees_its_key,
                o9_a_held_key_outlives_every_claim,
                o9_a_head_that_dies_after_waiting_frees_its_line,
                o9_a_head_that_dies_after_waiting_holds_its_line,
                o9_only_the_holding_letter_goes_back_to_its_place,
                o9_a_redrive_beside_a_holder_waits_its_turn,
                o6_a_key_that_waits_is_not_freed_by_an_older_dead_letter,
                o9_an_unkeyed_letter_holds_nothing,
                o9_a_held_key_cannot_be_retried_now;
            letters:
                f7_a_dead_letter_shows_what_was_saved_and_why_it_died,
                case22_redrive_goes_in_bounded_pages_once,
                case22_a_walk_does_not_meet_what_died_meanwhile,
                case22_filters_choose_letters,
                o9_each_letter_keeps_its_own_policy;
            leases:
                case13_a_crash_hands_the_message_out_again,
                d2_a_partial_settlement_keeps_the_lane,
                d4_giving_a_lane_back_frees_what_has_no_outcome,
                d2_a_renewal_prolongs_the_lease,
                d2_a_renewal_names_the_tokens_that_are_lost,
                d2_no_two_claims_share_a_token,
                d2_lanes_are_settled_each_by_its_own_token,
                d2_settling_nothing_does_nothing,
                f7_an_outcome_for_nothing_hinders_no_other,
                case42_relays_at_once_do_not_lock_each_other_out;
            late:
                case12_a_late_settlement_changes_nothing_and_is_reported,
                d2_a_settlement_after_the_lease_is_applied_whole_or_not_at_all,
                d2_a_late_confirmation_removes_the_message,
                case34_a_settlement_removes_only_the_message_it_published,
                case34_a_held_lease_removes_by_id_too,
                case34_a_late_confirmation_finds_its_message_in_the_waiting_line,
                case34_a_late_confirmation_finds_an_unkeyed_retry,
                o6_a_block_without_messages_does_not_last,
                o7_a_claim_that_only_removed_a_block_made_progress,
                case35_a_stale_renewal_prolongs_nobodys_lease,
                case35_a_renewal_after_the_release_leases_nothing,
                case35_a_renewal_after_the_last_settlement_leases_nothing,
                case35_a_settlement_sent_twice_counts_once,
                case35_a_partial_settlement_sent_twice_counts_once,
                case35_a_death_sent_twice_makes_one_letter;
            careful:
                f6_a_lapsed_lane_gives_one_message_at_a_time,
                f6_careful_service_ends_after_a_claims_worth_of_completions,
                f6_a_release_completes_nothing,
                f6_careful_service_ends_when_nothing_is_due,
                f6_a_lane_that_was_given_back_is_not_careful,
                f6_starts_that_ended_with_the_process_add_up,
                f6_a_claim_without_a_start_counts_nothing,
                f6_a_completion_clears_all_starts_of_the_lane,
                f6_one_message_that_goes_well_clears_the_starts_of_its_neighbors,
                f6_a_survivor_takes_back_only_its_own_start,
                f6_a_late_settlement_takes_back_its_own_start,
                f6_a_stale_token_starts_nothing,
                f6_careful_service_of_a_lane_leaves_the_others_as_they_are,
                f6_a_careful_lane_starves_nobody_and_is_not_starved;
            poison:
                case44_a_poison_message_is_found_and_no_innocent_dies,
                case44_relays_killed_together_kill_no_message,
                f6_a_redriven_poison_message_begins_anew;
            unreadable:
                case20_one_unreadable_row_fails_alone,
                f7_each_kind_of_bad_row_is_handed_out_as_unreadable,
                f7_a_run_goes_on_after_an_unreadable_row,
                f7_an_unreadable_row_holds_its_key_under_hold,
                f7_an_unreadable_row_can_be_given_back,
                case41_a_lane_with_a_bad_row_delays_no_other_lane,
                f7_a_bad_row_anywhere_fails_no_claim,
                f7_redrive_heals_a_row_in_the_wrong_lane;
            busy:
                case9_a_lone_long_key_stays_in_the_line,
                case45_a_neighbor_of_a_hot_key_waits_for_a_few_runs,
                case45_a_neighbor_is_served_by_claims_of_two,
                o7_unkeyed_messages_pass_a_hot_key,
                o7_a_busy_key_does_not_show_as_blocked,
                o6_a_busy_key_whose_head_fails_waits,
                o2_a_busy_key_keeps_its_order_while_it_grows,
                o8_what_joins_beside_a_long_key_is_seen,
                d1_a_busy_key_survives_a_crash;
            limits:
                p4_the_limit_of_messages_holds_over_all_lanes,
                p4_the_limit_of_bytes_holds_in_both_reads,
                p4_the_first_message_is_always_taken,
                p4_a_large_waiting_head_is_taken,
                o7_a_large_head_does_not_starve_beside_small_ones,
                p3_rows_set_aside_do_not_fill_a_claim;
            operators:
                status_counts_each_message_once,
                status_sees_behind_which_key_a_message_stands,
                status_tells_the_age_of_the_oldest_ready_message,
                status_counts_by_topic,
                status_tells_who_holds_a_lane,
                status_lists_ten_blocked_keys,
                status_shows_open_circuits,
                d3_a_message_is_found_without_a_wake_up;
        }
    };
    (@cases $harness:ty; $($noun:ident: $($case:ident),+;)+) => {
        $($(
            #[test]
            fn $case() {
                $crate::run($crate::cases::$noun::$case::<$harness>());
            }
        )+)+

        #[test]
        fn any_history_is_what_the_model_allows() {
            $crate::stateful::<$harness>();
        }
    };
}

/// Runs one case on a runtime of its own, on this thread.
#[doc(hidden)]
pub fn run(case: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("the operating system gives what a runtime needs")
        .block_on(case);
}
