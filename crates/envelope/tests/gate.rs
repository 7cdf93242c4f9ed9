//! Which versions a consumer reads, going by the property that shows them.

use outbox_envelope::projection::SchemaVersion;

#[test]
fn a_payload_is_read_if_its_version_is_1_or_nothing_is_said() {
    for text in ["1", "", " ", " \t", "\n\u{b}\u{c}\r"] {
        assert!(SchemaVersion::Text(text).is_read(), "{text:?}");
    }
    for text in [
        "2",
        "01",
        "x",
        "1.0",
        "null",
        " 1",
        "1 ",
        "\t1\n",
        "\u{a0}",
        "\u{85}",
        "\u{3000}",
        "\u{feff}",
        "\u{a0}1",
        "1\u{3000}",
    ] {
        assert!(!SchemaVersion::Text(text).is_read(), "{text:?}");
    }
    for (version, is_read) in [(1, true), (2, false), (0, false), (-1, false)] {
        assert_eq!(
            SchemaVersion::Integer(version).is_read(),
            is_read,
            "{version}"
        );
    }
    assert!(SchemaVersion::Absent.is_read());
    assert!(!SchemaVersion::Other.is_read());
    assert_eq!(SchemaVersion::from(None), SchemaVersion::Absent);
    assert_eq!(SchemaVersion::from(Some("")), SchemaVersion::Text(""));
}
