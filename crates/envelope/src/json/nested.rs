//! Rewriting an array or an object as it is to be encoded, in one pass over its text and with a stack of its own.
//! Leaves no tree behind.

use std::collections::BTreeMap;

use super::reader::Reader;
use crate::{MAX_DEPTH, Malformed};

/// An array or object whose end has not been met yet.
enum Open {
    Array,
    /// The names met so far, each with the place in the output where its member begins, after the brace or comma.
    Object(Vec<(String, usize)>),
}

/// Rewrites the array or object that comes next into `out`; it stands inside `outer` containers.
pub(super) fn rewrite(
    reader: &mut Reader<'_>,
    outer: usize,
    out: &mut String,
) -> Result<(), Malformed> {
    let mut open = Vec::new();
    loop {
        if matches!(reader.peek(), Some(b'[' | b'{')) && outer + open.len() == MAX_DEPTH {
            return Err(reader.malformed("nesting is too deep"));
        }
        if reader.eat(b'[') {
            out.push('[');
            reader.skip_space();
            if !reader.eat(b']') {
                open.push(Open::Array);
                continue;
            }
            out.push(']');
        } else if reader.eat(b'{') {
            out.push('{');
            reader.skip_space();
            if !reader.eat(b'}') {
                let mut members = Vec::new();
                rewrite_name(reader, &mut members, out)?;
                open.push(Open::Object(members));
                continue;
            }
            out.push('}');
        } else {
            reader.scalar()?.write(out);
        }
        if close(reader, &mut open, out)? {
            return Ok(());
        }
    }
}

/// After a complete value: ends the containers that end here. Whether none is left; if not, another value follows.
fn close(
    reader: &mut Reader<'_>,
    open: &mut Vec<Open>,
    out: &mut String,
) -> Result<bool, Malformed> {
    loop {
        let Some(innermost) = open.last_mut() else {
            return Ok(true);
        };
        reader.skip_space();
        if reader.eat(b',') {
            reader.skip_space();
            out.push(',');
            if let Open::Object(members) = innermost {
                rewrite_name(reader, members, out)?;
            }
            return Ok(false);
        }
        match innermost {
            Open::Array => {
                reader.expect(b']', "expected a comma or the end of the array")?;
                out.push(']');
            }
            Open::Object(members) => {
                reader.expect(b'}', "expected a comma or the end of the object")?;
                drop_repeated(members, out);
                out.push('}');
            }
        }
        open.pop();
    }
}

fn rewrite_name(
    reader: &mut Reader<'_>,
    members: &mut Vec<(String, usize)>,
    out: &mut String,
) -> Result<(), Malformed> {
    let place = out.len();
    let name = reader.name()?;
    super::string::write(&name, out);
    out.push(':');
    members.push((name, place));
    Ok(())
}

/// Of repeated names the last member stays, in the place of the first; `out` ends with the last of `members`.
fn drop_repeated(members: &[(String, usize)], out: &mut String) {
    let mut last = BTreeMap::new();
    for (index, (name, _)) in members.iter().enumerate() {
        last.insert(name.as_str(), index);
    }
    if last.len() == members.len() {
        return;
    }
    let start = members[0].1;
    let text = out.split_off(start);
    for (name, _) in members {
        // Removing it makes the second member of a name a repeated one.
        let Some(index) = last.remove(name.as_str()) else {
            continue;
        };
        let begin = members[index].1;
        let end = members
            .get(index + 1)
            .map_or(start + text.len(), |(_, next)| next - 1);
        if out.len() > start {
            out.push(',');
        }
        out.push_str(&text[begin - start..end - start]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_repeated_names_the_last_value_stays_in_the_first_place_at_any_depth() {
        for (text, expected) in [
            (
                r#"[{"b":1,"a":2,"b":3,"c":4,"b":[5,6]}]"#,
                r#"[{"b":[5,6],"a":2,"c":4}]"#,
            ),
            (
                r#"{"a":{"x":1,"x":{"y":1, "y":2}},"\u0061":{"z":[{}],"z":0.50}}"#,
                r#"{"a":{"z":0.5}}"#,
            ),
            (r#"[{"":"é","":"è"},{}]"#, r#"[{"":"è"},{}]"#),
            (r#"{"a,":1,"b":",","a,":2}"#, r#"{"a,":2,"b":","}"#),
        ] {
            let mut out = String::new();
            rewrite(&mut Reader::new(text), 0, &mut out).unwrap();
            assert_eq!(out, expected);
        }
    }
}
