//! What encoding, decoding and judging one envelope cost, and what they cost the reference, the Python package babelqueue,
//! on the same machine at the same time.
//!
//! `cargo xtask bench envelope` runs it with a Python that has the package. Criterion measures this crate alone; the table at
//! the end comes from short rounds of both by turns, so that other work on the machine slows both.

mod reference;
mod turns;

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use outbox_envelope::{Envelope, Received};

use turns::Operation;

/// 328 bytes, what a small business event takes.
const RAW: &str = concat!(
    r#"{"job":"urn:babel:orders:created","trace_id":"7b3f9c2a-e41d-4f88-9b2a-1c0d5e6f7a8b","#,
    r#""data":{"order_id":1042,"customer":"Ada B.","total_cents":129900,"paid":true,"tags":["new","vip"]},"#,
    r#""meta":{"id":"f1e2d3c4-b5a6-4789-90ab-cdef01234567","queue":"orders","lang":"python","#,
    r#""schema_version":1,"created_at":1749132727000},"attempts":0}"#,
);

fn main() {
    assert_eq!(RAW.len(), 328);
    let envelope = Envelope::decode(RAW).expect("it is an envelope");
    assert_eq!(envelope.encode().expect("nothing is forbidden"), RAW);
    let operations = [
        Operation::new("encode", "encode", || {
            let _ = black_box(black_box(&envelope).encode());
        }),
        Operation::new("decode", "decode", || {
            let _ = black_box(Envelope::decode(black_box(RAW)));
        }),
        Operation::new("verdict", "poison_cause", || {
            let _ = black_box(Envelope::poison(black_box(RAW)));
        }),
        // What a consumer does with each delivery.
        Operation::new("verdict, and what was received", "receive", || {
            let _ = black_box(Received::read(black_box(RAW.as_bytes())));
        }),
    ];

    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("envelope of 328 bytes");
    group.throughput(Throughput::Bytes(RAW.len().try_into().unwrap_or(u64::MAX)));
    for operation in &operations {
        group.bench_function(operation.name, |bencher| bencher.iter(|| operation.once()));
    }
    group.finish();
    criterion.final_summary();
    turns::print(&operations);
}
