//! Writing JSON: no white space, only what must be escaped is.

use std::fmt::Write;

use super::{Object, Value};

impl Value {
    pub(crate) fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(true) => out.push_str("true"),
            Self::Bool(false) => out.push_str("false"),
            Self::Number(number) => write!(out, "{number}").expect("a string takes any text"),
            Self::String(text) => write_string(text, out),
            Self::Array(items) => {
                out.push('[');
                for (place, item) in items.iter().enumerate() {
                    separate(place, out);
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(object) => object.write(out),
        }
    }
}

impl Object {
    pub(crate) fn write(&self, out: &mut String) {
        out.push('{');
        for (place, (name, value)) in self.members().iter().enumerate() {
            separate(place, out);
            write_string(name, out);
            out.push(':');
            value.write(out);
        }
        out.push('}');
    }
}

fn separate(place: usize, out: &mut String) {
    if place > 0 {
        out.push(',');
    }
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\0'..'\u{20}' => {
                write!(out, "\\u{:04x}", u32::from(c)).expect("a string takes any text");
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}
