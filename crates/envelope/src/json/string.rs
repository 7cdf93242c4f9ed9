//! Writing a string: only what must be escaped is.

use std::fmt::Write;

pub(crate) fn write(text: &str, out: &mut String) {
    out.push('"');
    let mut clean = text;
    while let Some(place) = clean.find(|c: char| c < ' ' || c == '"' || c == '\\') {
        out.push_str(&clean[..place]);
        let byte = clean.as_bytes()[place];
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x08 => out.push_str("\\b"),
            b'\t' => out.push_str("\\t"),
            b'\n' => out.push_str("\\n"),
            0x0c => out.push_str("\\f"),
            b'\r' => out.push_str("\\r"),
            _ => write!(out, "\\u{byte:04x}").expect("a string takes any text"),
        }
        clean = &clean[place + 1..];
    }
    out.push_str(clean);
    out.push('"');
}

/// The same with nothing but ASCII, which is how the reference writes what it encrypts.
pub(crate) fn write_ascii(text: &str, out: &mut String) {
    let mut literal = String::new();
    write(text, &mut literal);
    for c in literal.chars() {
        if (' '..='~').contains(&c) {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}").expect("a string takes any text");
            }
        }
    }
}
