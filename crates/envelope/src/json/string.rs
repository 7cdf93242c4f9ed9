//! Writing a string: only what must be escaped is.

use std::fmt::Write;

pub(crate) fn write(text: &str, out: &mut String) {
    out.push('"');
    let mut clean = text;
    loop {
        let place = plain(clean.as_bytes());
        out.push_str(&clean[..place]);
        let Some(byte) = clean.as_bytes().get(place) else {
            break;
        };
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

/// How many bytes stand before the first that a string must escape: a quote, a backslash or a control character.
///
/// Eight at a time are passed over, and the last ones one by one: where they end is then a jump, which the processor takes
/// before it has read them.
#[inline]
pub(super) fn plain(bytes: &[u8]) -> usize {
    let (eights, _) = bytes.as_chunks();
    let all = eights
        .iter()
        .take_while(|eight| !has_special(u64::from_le_bytes(**eight)));
    let mut place = all.count() * 8;
    while bytes.get(place).is_some_and(|byte| !is_special(*byte)) {
        place += 1;
    }
    place
}

#[inline]
fn is_special(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

/// Whether one of eight bytes must be escaped.
#[inline]
fn has_special(eight: u64) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // Sets the highest bit of a byte that is less than `than`, and none if no byte is.
    let less = |bytes: u64, than: u8| bytes.wrapping_sub(ONES * u64::from(than)) & !bytes;
    let is = |byte: u8| less(eight ^ (ONES * u64::from(byte)), 1);
    (less(eight, b' ') | is(b'"') | is(b'\\')) & (ONES << 7) != 0
}
