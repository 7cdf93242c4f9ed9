//! From one hop of a message to the next in OpenTelemetry: the W3C header `traceparent` beside a message, or else its `trace_id`, as
//! `BabelQueue`'s packages map it. Leaves out spans, and the library that makes them.
//!
//! ```
//! use outbox_envelope::otel::{Parent, parent};
//!
//! let trace_id = "7b3f9c2a-e41d-4f88-9b2a-1c0d5e6f7a8b";
//! let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
//! let Some(Parent::Header(span)) = parent(Some(header), trace_id) else { panic!("it is well formed") };
//! assert_eq!((span.to_string().as_str(), span.is_sampled()), (header, true));
//!
//! let of_trace = parent(None, trace_id).expect("there is a trace id").span();
//! assert_eq!(of_trace.trace, 0x7b3f_9c2a_e41d_4f88_9b2a_1c0d_5e6f_7a8b);
//! ```

use std::fmt;

use sha2::{Digest, Sha256};

/// The name of the header.
pub const TRACEPARENT: &str = "traceparent";

/// A span of another process, as the header `traceparent` has it. Shown as that header, in version 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Span {
    /// The trace, never 0.
    pub trace: u128,
    /// The span in it, never 0.
    pub id: u64,
    /// The flags; the lowest bit says that it is sampled.
    pub flags: u8,
}

/// The parent of the span in which a message is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Parent {
    /// The span in which it was published.
    Header(Span),
    /// A span that nobody recorded, in the trace that the envelope's trace id stands for.
    TraceId(Span),
}

impl Parent {
    /// The span, wherever it is from.
    pub fn span(self) -> Span {
        match self {
            Self::Header(span) | Self::TraceId(span) => span,
        }
    }
}

/// The parent for a message that came with this header, if any, and has this trace id. A header that is malformed is as none. `None`
/// without either.
pub fn parent(traceparent: Option<&str>, trace_id: &str) -> Option<Parent> {
    let header = traceparent.and_then(Span::read).map(Parent::Header);
    let of_trace = || (!trace_id.is_empty()).then(|| Parent::TraceId(Span::of_trace(trace_id)));
    header.or_else(of_trace)
}

impl Span {
    /// Reads a header, as the W3C's Trace Context says: `00-<32 hex>-<16 hex>-<2 hex>` in lower case, neither id 0. A later version
    /// may have more after these.
    pub fn read(traceparent: &str) -> Option<Self> {
        let mut fields = traceparent.splitn(5, '-');
        let version = hex(fields.next()?, 2)?;
        let span = Self {
            trace: hex(fields.next()?, 32)?,
            id: hex(fields.next()?, 16)?.try_into().ok()?,
            flags: hex(fields.next()?, 2)?.try_into().ok()?,
        };
        let has_more = fields.next().is_some();
        let is_known = version > 0 || !has_more;
        let is_valid = version != 0xff && is_known && span.trace > 0 && span.id > 0;
        is_valid.then_some(span)
    }

    /// The span that a trace id stands for: sampled, in the [trace](trace_of) of that id.
    pub fn of_trace(trace_id: &str) -> Self {
        let digest = Sha256::new()
            .chain_update("babelqueue-span:")
            .chain_update(trace_id)
            .finalize();
        let id = digest
            .first_chunk()
            .map_or(0, |bytes| u64::from_be_bytes(*bytes));
        Self {
            trace: trace_of(trace_id),
            id: id.max(1),
            flags: 1,
        }
    }

    /// Whether the trace is recorded.
    pub fn is_sampled(self) -> bool {
        self.flags & 1 == 1
    }

    /// The trace id for an envelope in this trace: a UUID, which [`trace_of`] turns back.
    pub fn trace_uuid(self) -> String {
        uuid::Uuid::from_u128(self.trace).to_string()
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (trace, span, flags) = (self.trace, self.id, self.flags);
        write!(f, "00-{trace:032x}-{span:016x}-{flags:02x}")
    }
}

/// The trace that an envelope's trace id stands for: the number of a UUID, and of any other text the first half of its SHA-256.
/// Never 0.
pub fn trace_of(trace_id: &str) -> u128 {
    let digits = trace_id.replace('-', "").to_ascii_lowercase();
    let number = hex(&digits, 32).filter(|number| *number > 0);
    number.unwrap_or_else(|| {
        let digest = Sha256::digest(trace_id);
        let half = digest
            .first_chunk()
            .map_or(0, |bytes| u128::from_be_bytes(*bytes));
        half.max(1)
    })
}

/// The number that so many hex digits in lower case are.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_well_formed = text.len() == digits && text.bytes().all(is_hex);
    is_well_formed.then(|| u128::from_str_radix(text, 16).ok())?
}
