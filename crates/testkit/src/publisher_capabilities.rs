//! What brokers and their publishers may differ in, as a harness declares it.

use outbox_publisher::PublishErrorKind;

/// What publishers and their brokers differ in. A case that needs more than a publisher has passes without a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own that a broker has or has not"
)]
pub struct PublisherCapabilities {
    /// The message id arrives.
    pub ids: bool,
    /// The key arrives.
    pub keys: bool,
    /// The content type arrives.
    pub content_types: bool,
    /// Which headers arrive.
    pub headers: HeaderSupport,
    /// Names of headers are told apart without regard to case, and may arrive in another.
    pub folded_names: bool,
    /// Payloads may be any bytes. Otherwise some may be malformed; UTF-8 text without control characters never is.
    pub any_payload: bool,
    /// Header values may contain anything that a message may: line feeds, control characters, text that is not ASCII, nothing at all. Otherwise such messages may be malformed.
    pub any_header_text: bool,
    /// The longest payload, in bytes, that the server takes as the harness starts it, with small headers.
    pub max_payload: usize,
    /// The broker takes a run whole or not at all, or guarantees otherwise that the failure of a message fails those behind it: a run
    /// may be on its way while its first message is not confirmed (B2).
    pub whole_runs: bool,
    /// How the broker can refuse one message and take its neighbors.
    pub refusals: &'static [PublishErrorKind],
    /// The server asks for credentials: there is a [`Door::WrongCredentials`](crate::Door).
    pub credentials: bool,
    /// The server speaks TLS: there are the doors over TLS.
    pub tls: bool,
    /// The destination can be missing: there is [`Fault::Missing`](crate::Fault).
    pub missing: bool,
    /// A server that is killed and started again has everything that it confirmed.
    pub survives_kill: bool,
}

impl PublisherCapabilities {
    /// Ids and nothing else, payloads of any length, and a server without credentials or TLS.
    pub const BARE: Self = Self {
        ids: true,
        keys: false,
        content_types: false,
        headers: HeaderSupport::None,
        folded_names: false,
        any_payload: true,
        any_header_text: false,
        whole_runs: false,
        max_payload: usize::MAX,
        refusals: &[],
        credentials: false,
        tls: false,
        missing: false,
        survives_kill: true,
    };

    /// The same without ids.
    #[must_use]
    pub const fn without_ids(self) -> Self {
        Self { ids: false, ..self }
    }

    /// The same with keys that arrive.
    #[must_use]
    pub const fn with_keys(self) -> Self {
        Self { keys: true, ..self }
    }

    /// The same with content types that arrive.
    #[must_use]
    pub const fn with_content_types(self) -> Self {
        Self {
            content_types: true,
            ..self
        }
    }

    /// The same with these headers.
    #[must_use]
    pub const fn with_headers(self, headers: HeaderSupport) -> Self {
        Self { headers, ..self }
    }

    /// The same with names of headers whose case means nothing.
    #[must_use]
    pub const fn with_folded_names(self) -> Self {
        Self {
            folded_names: true,
            ..self
        }
    }

    /// The same with payloads that may be malformed.
    #[must_use]
    pub const fn without_any_payload(self) -> Self {
        Self {
            any_payload: false,
            ..self
        }
    }

    /// The same with runs that go whole or not at all.
    #[must_use]
    pub const fn with_whole_runs(self) -> Self {
        Self {
            whole_runs: true,
            ..self
        }
    }

    /// The same with any text in header values.
    #[must_use]
    pub const fn with_any_header_text(self) -> Self {
        Self {
            any_header_text: true,
            ..self
        }
    }

    /// The same with payloads of at most so many bytes.
    #[must_use]
    pub const fn with_max_payload(self, max_payload: usize) -> Self {
        Self {
            max_payload,
            ..self
        }
    }

    /// The same with these refusals of single messages.
    #[must_use]
    pub const fn with_refusals(self, refusals: &'static [PublishErrorKind]) -> Self {
        Self { refusals, ..self }
    }

    /// The same with credentials.
    #[must_use]
    pub const fn with_credentials(self) -> Self {
        Self {
            credentials: true,
            ..self
        }
    }

    /// The same with TLS.
    #[must_use]
    pub const fn with_tls(self) -> Self {
        Self { tls: true, ..self }
    }

    /// The same with a destination that can be missing.
    #[must_use]
    pub const fn with_missing(self) -> Self {
        Self {
            missing: true,
            ..self
        }
    }

    /// The same with a server that may lose what it confirmed when it is killed.
    #[must_use]
    pub const fn lossy_when_killed(self) -> Self {
        Self {
            survives_kill: false,
            ..self
        }
    }
}

/// How much of a message's headers arrives. What a broker cannot carry makes the message malformed; nothing is changed silently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum HeaderSupport {
    /// None: messages are published without them.
    None,
    /// One value of each name, the names in any order.
    Names,
    /// All values of a name in their order, the names in any order.
    Values,
    /// All pairs in their order.
    Pairs,
}
