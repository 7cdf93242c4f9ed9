//! How a stream answers a publish, and what a refusal says about the message. Pure functions of what the server sends.

use outbox_publisher::PublishErrorKind;
use serde::Deserialize;

/// What a stream said to a message that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ack {
    /// The message's number in the stream; of a duplicate, that of the first.
    pub(crate) sequence: u64,
    /// It had a message of this id already and stored nothing.
    pub(crate) duplicate: bool,
}

/// An error of JetStream, in the answer to a publish or to any other request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct ApiError {
    /// Like a status of HTTP.
    #[serde(default)]
    pub(crate) code: u16,
    /// Which error it is; 0 from servers before 2.3.
    #[serde(default, rename = "err_code")]
    pub(crate) number: u32,
    #[serde(default)]
    pub(crate) description: String,
}

/// Why an answer confirms nothing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoAck {
    /// The stream refused the message.
    Refused(ApiError),
    /// It is no answer of a stream: somebody else listens there.
    Foreign,
}

#[derive(Deserialize)]
struct Answer {
    error: Option<ApiError>,
    stream: Option<String>,
    #[serde(default)]
    seq: u64,
    #[serde(default)]
    duplicate: bool,
}

/// Reads the answer to a publish.
pub(crate) fn read(payload: &[u8]) -> Result<Ack, NoAck> {
    let answer: Answer = serde_json::from_slice(payload).map_err(|_| NoAck::Foreign)?;
    match answer {
        Answer {
            error: Some(error), ..
        } => Err(NoAck::Refused(error)),
        Answer {
            stream: Some(_),
            seq: sequence @ 1..,
            duplicate,
            ..
        } => Ok(Ack {
            sequence,
            duplicate,
        }),
        _ => Err(NoAck::Foreign),
    }
}

impl ApiError {
    /// The subject has another last message than was expected of it.
    pub(crate) fn is_wrong_last_sequence(&self) -> bool {
        self.number == 10_071
    }

    /// There is no such stream, or no such message.
    pub(crate) fn is_not_found(&self) -> bool {
        self.code == 404
    }

    /// What it says about the message. `of_subject`: a full subject is a matter of some messages of the topic only.
    pub(crate) fn kind(&self, of_subject: bool) -> PublishErrorKind {
        match self.number {
            // The message, or its headers, are more than the stream takes.
            10_054 | 10_097 => PublishErrorKind::TooLarge,
            // Resources of the account, of the server, memory, storage, the stream's share.
            10_002 | 10_023 | 10_028 | 10_047 | 10_122 => PublishErrorKind::Throttled,
            10_077 => self.kind_of_store(of_subject),
            // Not this stream, sealed, clusters that are not ready, JetStream that is off, streams that are offline.
            10_060
            | 10_109
            | 10_004..=10_011
            | 10_035
            | 10_039
            | 10_041
            | 10_059
            | 10_076
            | 10_118 => PublishErrorKind::Unavailable,
            // What a header of the message's own asks for; the server gives it the code of a failure of its own.
            10_111 => PublishErrorKind::Rejected,
            _ => match self.code {
                429 => PublishErrorKind::Throttled,
                401 | 403 | 404 | 408 | 503 => PublishErrorKind::Unavailable,
                // What the message asks for, such as a header that the stream does not allow.
                400..=499 => PublishErrorKind::Rejected,
                _ => PublishErrorKind::Unknown,
            },
        }
    }

    /// A store that failed says why in its text only.
    fn kind_of_store(&self, of_subject: bool) -> PublishErrorKind {
        match &*self.description {
            "maximum messages per subject exceeded" if of_subject => PublishErrorKind::Rejected,
            "maximum messages exceeded"
            | "maximum bytes exceeded"
            | "maximum messages per subject exceeded" => PublishErrorKind::Throttled,
            _ => PublishErrorKind::Unavailable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(code: u16, number: u32, description: &str) -> PublishErrorKind {
        let error = ApiError {
            code,
            number,
            description: description.to_owned(),
        };
        error.kind(true)
    }

    #[test]
    fn b1_only_a_stream_that_numbered_the_message_confirms_it() {
        let ack = |sequence, duplicate| {
            Ok(Ack {
                sequence,
                duplicate,
            })
        };
        assert_eq!(read(br#"{"stream":"S","seq":7}"#), ack(7, false));
        assert_eq!(
            read(br#"{"stream":"S","domain":"d","seq":7,"duplicate":true}"#),
            ack(7, true)
        );
        for foreign in [
            "",
            "OK",
            "{}",
            "null",
            r#"{"seq":7}"#,
            r#"{"stream":"S"}"#,
            r#"{"stream":"S","seq":0}"#,
        ] {
            assert_eq!(read(foreign.as_bytes()), Err(NoAck::Foreign), "{foreign}");
        }
    }

    #[test]
    fn a_refusal_confirms_nothing_although_it_names_the_stream() {
        let refusal = br#"{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 4"},"stream":"S","seq":0}"#;
        let Err(NoAck::Refused(error)) = read(refusal) else {
            panic!("not refused");
        };
        assert!(error.is_wrong_last_sequence());
        assert_eq!(error.description, "wrong last sequence: 4");
    }

    #[test]
    fn refusals_are_told_apart_by_what_they_say_about_the_message() {
        use PublishErrorKind::{Rejected, Throttled, TooLarge, Unavailable, Unknown};
        for (expected, code, number, description) in [
            (
                TooLarge,
                400,
                10_054,
                "message size exceeds maximum allowed",
            ),
            (
                TooLarge,
                400,
                10_097,
                "header size exceeds maximum allowed of 64k",
            ),
            (Throttled, 503, 10_077, "maximum messages exceeded"),
            (Throttled, 503, 10_077, "maximum bytes exceeded"),
            (
                Rejected,
                503,
                10_077,
                "maximum messages per subject exceeded",
            ),
            (
                Unavailable,
                503,
                10_077,
                "write /data/1.blk: no space left on device",
            ),
            (Throttled, 503, 10_023, "insufficient resources"),
            (
                Throttled,
                500,
                10_047,
                "insufficient storage resources available",
            ),
            (Unavailable, 400, 10_060, "expected stream does not match"),
            (
                Unavailable,
                400,
                10_109,
                "invalid operation on sealed stream",
            ),
            (
                Unavailable,
                503,
                10_008,
                "JetStream system temporarily unavailable",
            ),
            (Unavailable, 500, 10_118, "stream is offline"),
            (Rejected, 400, 10_071, "wrong last sequence: 4"),
            (Rejected, 500, 10_111, "rollup not permitted"),
            (Throttled, 429, 10_167, "too many requests"),
            (Unavailable, 503, 19_999, "of a later server"),
            (Rejected, 400, 19_999, "of a later server"),
            (Unknown, 500, 19_999, "of a later server"),
            (Unknown, 0, 0, ""),
        ] {
            assert_eq!(
                kind(code, number, description),
                expected,
                "{number} {description}"
            );
        }
        let full = ApiError {
            code: 503,
            number: 10_077,
            description: "maximum messages per subject exceeded".to_owned(),
        };
        assert_eq!(full.kind(false), Throttled);
    }
}
