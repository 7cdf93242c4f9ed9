//! The payload of a message, the same in every peer.

use serde::{Deserialize, Serialize};

/// 200 bytes of JSON: `{"order":7,"note":"xx..."}`.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Order {
    order: u64,
    note: String,
}

/// The same as an expression of SQL, a text, for the number `i` of a message.
pub const PAYLOAD: &str =
    r#"('{"order":' || i || ',"note":"' || repeat('x', 180 - length(i::text)) || '"}')"#;

impl Order {
    /// Makes the payload of the message with that number.
    pub fn new(order: u64) -> Self {
        let note = "x".repeat(180 - order.to_string().len());
        Self { order, note }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_has_200_bytes() {
        for order in [0, 7, 1_000_000, u64::MAX] {
            let payload = serde_json::to_string(&Order::new(order)).expect("it is plain");
            assert_eq!(payload.len(), 200, "{payload}");
        }
    }
}
