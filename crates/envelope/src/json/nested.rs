//! Rewriting an array or an object as it is to be encoded, in one pass over its text and with a stack of its own.
//! Leaves no tree behind. Members of repeated names are only noted on the way, however deep they stand, and left out by
//! one pass at the end, so that no text is moved once for every object around it.

use std::{borrow::Cow, collections::BTreeMap, fmt::Write, mem, ops::Range};

use super::{Number, object::is_plainly_distinct, reader::Reader};
use crate::{MAX_DEPTH, Malformed};

/// What most arrays and objects in an envelope take, in bytes.
const MOST: usize = 256;

/// An array or object whose end has not been met yet.
enum Open<'a> {
    Array,
    /// The names met so far, each with the place in the output where its member begins, after the brace or comma.
    Object(Vec<(Cow<'a, str>, usize)>),
}

/// What stays of an object that has repeated names.
struct Edit {
    /// Its members, and a comma between each two, in the order in which they are to stand.
    kept: Vec<Range<usize>>,
    /// Where its closing brace stands.
    end: usize,
}

/// The edits to make, each by the place of its object's opening brace.
type Edits = BTreeMap<usize, Edit>;

/// Rewrites the array or object that comes next; it stands inside `outer` containers.
pub(super) fn rewrite(reader: &mut Reader<'_>, outer: usize) -> Result<String, Malformed> {
    let mut out = mem::take(&mut reader.room);
    out.clear();
    out.reserve(MOST);
    let mut edits = Edits::new();
    let mut open = Vec::with_capacity(4);
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
                let mut members = Vec::with_capacity(8);
                rewrite_name(reader, &mut members, &mut out)?;
                open.push(Open::Object(members));
                continue;
            }
            out.push('}');
        } else {
            rewrite_scalar(reader, &mut out)?;
        }
        if close(reader, &mut open, &mut edits, &mut out)? {
            // Cut to size: an envelope may have many.
            let text = edited(&out, &edits);
            reader.room = out;
            return Ok(text);
        }
    }
}

/// After a complete value: ends the containers that end here. Whether none is left; if not, another value follows.
fn close<'a>(
    reader: &mut Reader<'a>,
    open: &mut Vec<Open<'a>>,
    edits: &mut Edits,
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
                if let Some(edit) = edit(members, out.len()) {
                    edits.insert(members[0].1 - 1, edit);
                }
                out.push('}');
            }
        }
        open.pop();
    }
}

fn rewrite_scalar(reader: &mut Reader<'_>, out: &mut String) -> Result<(), Malformed> {
    let place = reader.place();
    if let Some(text) = reader.text() {
        super::string::write(&text?, out);
    } else if let Some(number) = reader.number() {
        match number? {
            // Only a negative zero has another form than its literal.
            Number::Integer(0) => out.push('0'),
            Number::Integer(_) | Number::BigInteger(_) => out.push_str(reader.since(place)),
            number => write!(out, "{number}").expect("a string takes any text"),
        }
    } else {
        reader.constant()?;
        out.push_str(reader.since(place));
    }
    Ok(())
}

fn rewrite_name<'a>(
    reader: &mut Reader<'a>,
    members: &mut Vec<(Cow<'a, str>, usize)>,
    out: &mut String,
) -> Result<(), Malformed> {
    let place = out.len();
    let name = reader.name()?;
    super::string::write(&name, out);
    out.push(':');
    members.push((name, place));
    Ok(())
}

/// Of repeated names the last member stays, in the place of the first. `None` if there are none.
fn edit(members: &[(Cow<'_, str>, usize)], end: usize) -> Option<Edit> {
    if is_plainly_distinct(members) {
        return None;
    }
    let mut last = BTreeMap::new();
    for (index, (name, _)) in members.iter().enumerate() {
        last.insert(name.as_ref(), index);
    }
    if last.len() == members.len() {
        return None;
    }
    // Any comma will do, and an object with a repeated name has one.
    let comma = members[1].1 - 1..members[1].1;
    let mut kept = Vec::new();
    for (name, _) in members {
        // Removing it makes the second member of a name a repeated one.
        let Some(index) = last.remove(name.as_ref()) else {
            continue;
        };
        if !kept.is_empty() {
            kept.push(comma.clone());
        }
        let next = members.get(index + 1);
        kept.push(members[index].1..next.map_or(end, |(_, next)| next - 1));
    }
    Some(Edit { kept, end })
}

/// `text` with every edit made. What an edit leaves out is passed over, with the edits inside.
fn edited(text: &str, edits: &Edits) -> String {
    if edits.is_empty() {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut todo = Vec::new();
    todo.push(0..text.len());
    while let Some(part) = todo.pop() {
        // The first by its place is the outermost.
        let Some((&brace, edit)) = edits.range(part.clone()).next() else {
            out.push_str(&text[part]);
            continue;
        };
        out.push_str(&text[part.start..=brace]);
        todo.push(edit.end..part.end);
        todo.extend(edit.kept.iter().rev().cloned());
    }
    out
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
            (
                r#"{"a":1,"b":{"c":1,"c":{"d":1,"d":2}},"a":{"e":{},"e":[{"f":0,"f":1}]},"g":2}"#,
                r#"{"a":{"e":[{"f":1}]},"b":{"c":{"d":2}},"g":2}"#,
            ),
        ] {
            assert_eq!(rewrite(&mut Reader::new(text), 0).unwrap(), expected);
        }
    }
}
