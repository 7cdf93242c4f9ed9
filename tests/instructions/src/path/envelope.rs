//! One envelope of 328 bytes: encoded, decoded, judged, and judged and read as a consumer does it.

use std::hint::black_box;

use outbox_envelope::{Envelope, Received};

use super::Path;

/// What a small business event takes.
const RAW: &str = concat!(
    r#"{"job":"urn:babel:orders:created","trace_id":"7b3f9c2a-e41d-4f88-9b2a-1c0d5e6f7a8b","#,
    r#""data":{"order_id":1042,"customer":"Ada B.","total_cents":129900,"paid":true,"tags":["new","vip"]},"#,
    r#""meta":{"id":"f1e2d3c4-b5a6-4789-90ab-cdef01234567","queue":"orders","lang":"python","#,
    r#""schema_version":1,"created_at":1749132727000},"attempts":0}"#,
);

pub(super) fn paths() -> [Path; 4] {
    let envelope = Envelope::decode(RAW).expect("it is an envelope");
    [
        Path::new("envelope: encode", move |meter| {
            let bytes = meter.count(|| black_box(&envelope).encode());
            assert_eq!(bytes.expect("nothing is forbidden"), RAW);
        }),
        Path::new("envelope: decode", |meter| {
            let envelope = meter.count(|| Envelope::decode(black_box(RAW)));
            assert!(envelope.is_ok());
        }),
        Path::new("envelope: verdict", |meter| {
            let poison = meter.count(|| Envelope::poison(black_box(RAW)));
            assert!(poison.is_none());
        }),
        Path::new("envelope: verdict, and what was received", |meter| {
            let received = meter.count(|| Received::read(black_box(RAW.as_bytes())));
            assert!(received.is_ok());
        }),
    ]
}
