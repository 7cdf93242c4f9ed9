//! What a status says about a message: one pure table, argued in docs/http.md.

use std::time::Duration;

use outbox_publisher::PublishErrorKind;

/// What a status says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The receiver has it.
    Accepted,
    /// It is this, whatever else happens.
    Failed(PublishErrorKind),
    /// The receiver failed, over this message or over any: what becomes of others tells (contract F1, F3).
    Doubtful,
}

/// What of a request is the message's own, so that a status about it may be about the message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Share {
    /// More of the URL than its topic: its key or its id.
    pub(crate) url: bool,
    /// Headers that it brings.
    pub(crate) headers: bool,
}

/// Judges a status. `permanent` are those of the user's that kill a message at once.
pub(crate) fn judge(
    status: u16,
    retry_after: Option<Duration>,
    permanent: &[u16],
    share: Share,
) -> Verdict {
    use PublishErrorKind::{Malformed, Rejected, Throttled, TooLarge, Unavailable};
    let kind = match status {
        200..=299 => return Verdict::Accepted,
        _ if permanent.contains(&status) => Malformed,
        // There is nothing at the URL, of which the message made a part.
        404 | 410 if share.url => return Verdict::Doubtful,
        // The key or the id makes a URL that is longer than the receiver takes.
        414 if share.url => Malformed,
        // The URL is the wrong one: it leads elsewhere, to nothing, or to what takes no POST, or no message could come by it.
        300..=399 | 404 | 405 | 410 | 414 | 421 | 426
        // It does not let us in; 407 and 511 are a proxy's.
        | 401 | 402 | 403 | 407 | 511
        // It is away for now, as it says itself.
        | 425 | 503 => Unavailable,
        429 => Throttled,
        // With a time it is too large for the moment only (RFC 9110, 15.5.14).
        413 if retry_after.is_some() => Throttled,
        413 => TooLarge,
        431 if share.headers => TooLarge,
        // Those of the configuration are too large, and more so together with what is said of the message.
        431
        // It, or one behind what answers for it, gave up or broke: while it was busy, or over this message.
        | 408 | 502 | 504 => return Verdict::Doubtful,
        400..=499 => Rejected,
        // 500 and its kin, and what is no status at all.
        _ => return Verdict::Doubtful,
    };
    Verdict::Failed(kind)
}

/// What an operator can do about a status, besides looking at the receiver.
pub(crate) fn advice(status: u16) -> &'static str {
    match status {
        300..=399 => "redirects are not followed; write the URL that it leads to",
        401 | 403 => "it refuses the credentials; correct the user, token_file or headers_file",
        407 | 511 => "a proxy asks for credentials",
        404 => "there is nothing at this path; create it, or correct the URL",
        405 => "it takes no POST; correct the URL",
        410 => "the path is gone for good; correct the URL, or discard what waits for it",
        413 => "the message is larger than it takes",
        414 => "the URL, with what the message brings into it, is longer than it takes",
        421 => "it does not serve this host; correct the URL",
        426 => "it asks for another protocol; correct the URL",
        429 => "it asks for fewer requests",
        431 => "the headers, those of headers_file and the message's own, are more than it takes",
        _ => "",
    }
}

/// Whether a receiver without a message for it, asked what it takes, shows that it would refuse one.
pub(crate) fn is_no(status: u16, of_path: bool) -> bool {
    match status {
        401 | 403 | 407 | 421 | 429 | 502 | 503 | 504 | 511 => true,
        300..=399 | 404 | 410 => of_path,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Share = Share {
        url: false,
        headers: false,
    };
    const URL: Share = Share { url: true, ..NONE };
    const HEADERS: Share = Share {
        headers: true,
        ..NONE
    };

    fn of(status: u16) -> Verdict {
        judge(status, None, &[], NONE)
    }

    fn those(verdict: Verdict, share: Share) -> Vec<u16> {
        (0..=1_000)
            .filter(|status| judge(*status, None, &[], share) == verdict)
            .collect()
    }

    #[test]
    fn b1_only_a_status_from_200_to_299_is_accepted() {
        let expected: Vec<u16> = (200..300).collect();
        assert_eq!(those(Verdict::Accepted, NONE), expected);
    }

    #[test]
    fn f5_only_what_no_retry_can_heal_is_dead_at_once() {
        let too_large = Verdict::Failed(PublishErrorKind::TooLarge);
        assert_eq!(those(too_large, NONE), [413]);
        assert_eq!(those(too_large, HEADERS), [413, 431]);
        let malformed = Verdict::Failed(PublishErrorKind::Malformed);
        assert!(those(malformed, NONE).is_empty());
        assert_eq!(those(malformed, URL), [414]);
    }

    #[test]
    fn f3_what_says_nothing_about_a_message_counts_no_attempt() {
        let mut expected: Vec<u16> = (300..400).collect();
        expected.extend([401, 402, 403, 404, 405, 407, 410, 414, 421, 425, 426]);
        expected.extend([503, 511]);
        let unavailable = Verdict::Failed(PublishErrorKind::Unavailable);
        assert_eq!(those(unavailable, NONE), expected);
        expected.retain(|status| ![404, 410, 414].contains(status));
        assert_eq!(those(unavailable, URL), expected);
        let throttled = Verdict::Failed(PublishErrorKind::Throttled);
        assert_eq!(those(throttled, NONE), [429]);
    }

    #[test]
    fn f1_what_refuses_a_message_is_counted_and_what_fails_over_it_is_weighed() {
        for status in [
            400, 406, 409, 411, 412, 415, 418, 422, 423, 424, 428, 451, 499,
        ] {
            assert_eq!(
                of(status),
                Verdict::Failed(PublishErrorKind::Rejected),
                "{status}"
            );
        }
        for status in [
            0, 99, 199, 408, 431, 500, 501, 502, 504, 505, 507, 508, 520, 599, 600, 999,
        ] {
            assert_eq!(of(status), Verdict::Doubtful, "{status}");
        }
        for status in [404, 408, 410, 500, 502, 504] {
            assert_eq!(judge(status, None, &[], URL), Verdict::Doubtful, "{status}");
        }
    }

    #[test]
    fn f4_too_large_with_a_time_is_too_large_for_now() {
        let later = Some(Duration::from_mins(1));
        let expected = Verdict::Failed(PublishErrorKind::Throttled);
        assert_eq!(judge(413, later, &[], NONE), expected);
        assert_eq!(judge(422, later, &[], NONE), of(422));
    }

    #[test]
    fn f5_what_the_user_calls_permanent_is_dead_at_once_and_a_success_never_is() {
        let dead = Verdict::Failed(PublishErrorKind::Malformed);
        assert_eq!(judge(422, None, &[400, 422], NONE), dead);
        assert_eq!(judge(409, None, &[400, 422], NONE), of(409));
        assert_eq!(judge(200, None, &[200], NONE), Verdict::Accepted);
    }

    #[test]
    fn a_receiver_that_is_only_asked_may_refuse_the_question() {
        for status in [200, 204, 400, 405, 415, 500, 501] {
            assert!(!is_no(status, true), "{status}");
        }
        for status in [301, 404, 410] {
            assert!(is_no(status, true) && !is_no(status, false), "{status}");
        }
        assert!(is_no(401, false) && is_no(503, false));
    }
}
