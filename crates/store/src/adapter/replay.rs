//! What a replay makes of a published message: the same with one header more.

use outbox_message::Headers;

use super::{decode_headers, encode_headers};
use crate::{PublishedFilter, PublishedPlace, REPLAY_HEADER, Replay};

/// How many published messages a step of a replay looks at, at most.
pub const MOST_LOOKED_AT: usize = 5_000;

/// Where a step looks: after the first place, up to the second. `upto` is where the walk ends, and `per_ms` how many units of the store's clock a
/// millisecond has.
pub fn looked_at(
    replay: &Replay,
    upto: PublishedPlace,
    per_ms: i64,
) -> (PublishedPlace, PublishedPlace) {
    let PublishedFilter {
        since_ms,
        before_ms,
        ..
    } = replay.filter;
    let just_before = |ms: i64| PublishedPlace {
        at: ms.saturating_mul(per_ms).saturating_sub(1),
        number: i64::MAX,
    };
    let first = PublishedPlace {
        at: i64::MIN,
        number: i64::MIN,
    };
    let after = [replay.after, since_ms.map(just_before)]
        .into_iter()
        .flatten();
    let upto = before_ms.map_or(upto, |before| upto.min(just_before(before)));
    (after.fold(first, PublishedPlace::max), upto)
}

/// These headers with [`REPLAY_HEADER`], which is added once, in the place of an empty one: consumers take that for none, and brokers that keep one header of a
/// name may keep it. `None` if there is no room.
pub fn replay_headers(headers: Headers) -> Option<Headers> {
    let is_marked = |(name, value): (&str, &str)| name == REPLAY_HEADER && !value.is_empty();
    if headers.iter().any(is_marked) {
        return Some(headers);
    }
    let others = headers.iter().filter(|(name, _)| *name != REPLAY_HEADER);
    Headers::from_pairs(others.chain([(REPLAY_HEADER, "1")])).ok()
}

/// The same on headers as they are stored. `None` also if they cannot be read.
pub fn replay_stored_headers(stored: Option<&[u8]>) -> Option<String> {
    let headers = match stored {
        None => Headers::new(),
        Some(json) => decode_headers(json).ok()?,
    };
    encode_headers(&replay_headers(headers)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a7_a_replay_is_marked_once() {
        let once = replay_stored_headers(None).unwrap();
        assert_eq!(once, r#"[["bq-replay-bypass","1"]]"#);
        assert_eq!(replay_stored_headers(Some(once.as_bytes())), Some(once));
        let after = replay_stored_headers(Some(br#"[["a","1"],["bq-replay-bypass",""]]"#));
        assert_eq!(after.unwrap(), r#"[["a","1"],["bq-replay-bypass","1"]]"#);
    }

    #[test]
    fn a7_a_step_looks_within_its_times_and_goes_on_where_it_was() {
        let place = |at, number| PublishedPlace { at, number };
        let replay = |after| Replay {
            filter: PublishedFilter {
                since_ms: Some(10),
                before_ms: Some(20),
                ..PublishedFilter::default()
            },
            after,
            upto: None,
            limit: 1,
            mode: crate::ReplayMode::Count,
        };
        let (after, upto) = looked_at(&replay(None), place(30_000, 5), 1_000);
        assert!(after < place(10_000, 0) && after >= place(9_999, 7));
        assert!(upto >= place(19_999, 7) && upto < place(20_000, 0));
        let (after, upto) = looked_at(&replay(Some(place(12_000, 3))), place(15_000, 5), 1_000);
        assert_eq!((after, upto), (place(12_000, 3), place(15_000, 5)));
    }

    #[test]
    fn a7_headers_without_room_or_sense_are_left_out() {
        let mut full = Headers::new();
        full.push("a", "x".repeat(65_530)).unwrap();
        assert_eq!(replay_headers(full), None);
        assert_eq!(replay_stored_headers(Some(b"{}")), None);
    }
}
