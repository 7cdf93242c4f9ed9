//! Passing over a value: its syntax is checked as strictly as when it is kept, and nothing is built.

use super::Reader;
use crate::{MAX_DEPTH, Malformed};

/// Passes over the value that comes next, which stands inside `outer` containers. Where the first number in it stands that
/// is beyond the range of a double, if there is one.
pub(crate) fn skip(reader: &mut Reader<'_>, outer: usize) -> Result<Option<usize>, Malformed> {
    let mut beyond = None;
    // What closes the containers that are open.
    let mut open = Vec::new();
    loop {
        if matches!(reader.peek(), Some(b'[' | b'{')) && outer + open.len() == MAX_DEPTH {
            return Err(reader.malformed("nesting is too deep"));
        }
        let place = reader.place();
        if reader.eat(b'[') {
            reader.skip_space();
            if !reader.eat(b']') {
                open.push(b']');
                continue;
            }
        } else if reader.eat(b'{') {
            reader.skip_space();
            if !reader.eat(b'}') {
                reader.name()?;
                open.push(b'}');
                continue;
            }
        } else if let Some(text) = reader.text() {
            text?;
        } else if let Some(number) = reader.number() {
            if !number?.is_in_range_of_double() {
                beyond.get_or_insert(place);
            }
        } else {
            reader.constant()?;
        }
        if close(reader, &mut open)? {
            return Ok(beyond);
        }
    }
}

/// After a complete value: ends the containers that end here. Whether none is left; if not, another value follows.
fn close(reader: &mut Reader<'_>, open: &mut Vec<u8>) -> Result<bool, Malformed> {
    while let Some(&closing) = open.last() {
        reader.skip_space();
        if reader.eat(b',') {
            reader.skip_space();
            if closing == b'}' {
                reader.name()?;
            }
            return Ok(false);
        }
        let reason = match closing {
            b']' => "expected a comma or the end of the array",
            _ => "expected a comma or the end of the object",
        };
        reader.expect(closing, reason)?;
        open.pop();
    }
    Ok(true)
}
