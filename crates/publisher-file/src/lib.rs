//! A publisher that appends messages to a file, or to standard output, one line of JSON each.
//!
//! * [`FilePublisher::open`] confirms a message when its line is in the file and the file is synchronized. Publishes that come
//!   together share one append and one `fsync`. Appends happen under the file's lock, so that several processes may share a file.
//! * [`FilePublisher::stdout`] confirms a message when its line was written. What reads the pipe answers for the rest.
//!
//! # The line
//!
//! ```json
//! {"position":7,"id":"0198c0de-…","topic":"orders","key":"order-1042","headers":[["a","1"],["a","2"]],"content_type":null,"payload_text":"{\"total\":9900}"}
//! ```
//!
//! | member | value |
//! | --- | --- |
//! | `position` | the number that orders the messages of one store |
//! | `id` | the message id; a message may come twice, always with the same id |
//! | `topic` | text |
//! | `key` | text, or `null` for an unordered message |
//! | `headers` | an array of `[name, value]`, in order, repeated names included |
//! | `content_type` | text or `null` |
//! | `payload_text` | the payload, if it is valid UTF-8 |
//! | `payload_base64` | otherwise: the payload in standard Base64 with padding |
//!
//! Every line has these members in this order, and exactly one of the last two. Later versions may add members; these stay.
//!
//! A last line without a line end was never confirmed: its writer died. The next append cuts it off.
//!
//! ```no_run
//! use outbox_publisher_file::FilePublisher;
//!
//! let publisher = FilePublisher::open("published.ndjson")?;
//! # let _ = publisher;
//! # Ok::<(), outbox_publisher_file::OpenError>(())
//! ```

mod error;
mod line;
mod publisher;
mod queue;
mod sink;

pub use error::OpenError;
pub use publisher::FilePublisher;
