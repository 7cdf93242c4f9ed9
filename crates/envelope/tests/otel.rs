//! The header that ties the spans of a message together, and the traces that envelopes stand for.

use outbox_envelope::otel::{Parent, Span, parent, trace_of};

const HEADER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[test]
fn a_header_is_read_as_the_recommendation_says() {
    let span = Span::read(HEADER).unwrap();
    assert_eq!(span.to_string(), HEADER);
    assert_eq!(span.trace_uuid(), "4bf92f35-77b3-4da6-a3ce-929d0e0e4736");
    assert_eq!(trace_of(&span.trace_uuid()), span.trace);
    assert!(
        !Span::read(&HEADER.replace("-01", "-fe"))
            .unwrap()
            .is_sampled()
    );
    // A later version may have more.
    let later = HEADER.replacen("00", "cc", 1);
    assert_eq!(Span::read(&later), Some(span));
    assert_eq!(
        Span::read(&format!("{later}-what-the-future-has")),
        Some(span)
    );
    for header in [
        "",
        "----",
        &HEADER.to_uppercase().replace("-01", "-0A"),
        &HEADER.replacen("00", "ff", 1),
        &format!("{HEADER}-"),
        &format!("{HEADER} "),
        &HEADER.replace("00f067aa0ba902b7", "0000000000000000"),
        &HEADER.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
        &HEADER.replace("4bf9", "+bf9"),
        "00-é",
    ] {
        assert_eq!(Span::read(header), None, "{header:?}");
    }
}

#[test]
fn a_message_without_a_header_is_in_the_trace_of_its_trace_id() {
    let Some(Parent::TraceId(span)) = parent(None, "7b3f9c2a-e41d-4f88-9b2a-1c0d5e6f7a8b") else {
        panic!("there is no header");
    };
    assert!(span.is_sampled());
    assert_eq!(span.trace, 0x7b3f_9c2a_e41d_4f88_9b2a_1c0d_5e6f_7a8b);
    assert_eq!(
        Some(Parent::TraceId(span)),
        parent(Some("garbage"), "7b3f9c2a-e41d-4f88-9b2a-1c0d5e6f7a8b")
    );
    assert_eq!(parent(None, ""), None);
}

/// The values were computed by the reference, BabelQueue for Python.
#[test]
fn any_text_stands_for_a_trace() {
    assert_eq!(
        trace_of("7B3F9C2AE41D4F889B2A1C0D5E6F7A8B"),
        0x7b3f_9c2a_e41d_4f88_9b2a_1c0d_5e6f_7a8b
    );
    for (trace_id, trace, span) in [
        (
            "7b3f9c2a-e41d-4f88-9b2a-1c0d5e6f7a8b",
            0x7b3f_9c2a_e41d_4f88_9b2a_1c0d_5e6f_7a8b,
            0x980c_512d_6f4a_8fba,
        ),
        (
            "order-7",
            0xdf8c_f802_27ec_3237_922d_f0ec_d883_85c5,
            0xc226_a81b_24bf_eb02,
        ),
        (
            "é",
            0x4a99_557e_4033_c353_9de2_eb65_4720_17ca,
            0xa996_5511_6e3e_6dd9,
        ),
        (
            "00000000-0000-0000-0000-000000000000",
            0x12b9_377c_be7e_5c94_e8a7_0d9d_2392_9523,
            0xe47e_abb3_5347_6bde,
        ),
    ] {
        let of_trace = Span::of_trace(trace_id);
        assert_eq!((of_trace.trace, of_trace.id), (trace, span), "{trace_id}");
    }
}
