//! Changing a few members of an object, or items of an array, and no other byte.

use super::{Reader, skip};
use crate::Malformed;

/// What becomes of a member.
pub(crate) enum Edit {
    Keep,
    /// It goes, with the comma that it needs no more.
    Drop,
    /// It has this value, which is JSON.
    Replace(String),
}

/// The object that `text` is, but for white space around it, with each member as `edit` wants it, given its name and its
/// value as it is written; and with the member `last` after them, as it is to be written, unless it is empty.
pub(crate) fn splice<E: From<Malformed>>(
    text: &str,
    mut edit: impl FnMut(&str, &str) -> Result<Edit, E>,
    last: &str,
) -> Result<String, E> {
    let mut reader = Reader::new(text);
    reader.skip_space();
    let object = reader.place();
    reader.expect(b'{', "expected an object")?;
    reader.skip_space();
    let mut out = String::with_capacity(text.len() + last.len() + 1);
    // How much of the text has been dealt with, where the comma before stands, and whether a member has been kept.
    let (mut done, mut end, mut has_members) = (0, reader.place(), false);
    let mut goes_on = reader.peek() != Some(b'}');
    while goes_on {
        let start = reader.place();
        let name = reader.name()?;
        let value = reader.place();
        skip(&mut reader, 1)?;
        let edit = edit(&name, reader.since(value))?;
        if let Edit::Drop = edit {
            out.push_str(&text[done..end]);
            done = reader.place();
        } else {
            if done > 0 && !has_members {
                // What came before went, so this one needs no comma.
                done = start;
            }
            has_members = true;
        }
        if let Edit::Replace(other) = edit {
            out.push_str(&text[done..value]);
            out.push_str(&other);
            done = reader.place();
        }
        reader.skip_space();
        end = reader.place();
        goes_on = reader.eat(b',');
        if goes_on {
            reader.skip_space();
        }
    }
    let brace = reader.place();
    reader.expect(b'}', "expected a comma or the end of the object")?;
    reader.skip_space();
    reader.end()?;
    if has_members {
        out.push_str(&text[done..brace]);
        out.push_str(if last.is_empty() { "" } else { "," });
    } else {
        out.clear();
        out.push_str(&text[..=object]);
    }
    out.push_str(last);
    out.push_str(&text[brace..]);
    Ok(out)
}

/// The array that `text` is, with another value for each item for which `edit` has one, given the item as it is written.
pub(crate) fn splice_items<E: From<Malformed>>(
    text: &str,
    mut edit: impl FnMut(&str) -> Result<Option<String>, E>,
) -> Result<String, E> {
    let mut reader = Reader::new(text);
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    reader.items(|reader| {
        let start = reader.place();
        skip(reader, 1)?;
        if let Some(other) = edit(reader.since(start))? {
            out.push_str(&text[done..start]);
            out.push_str(&other);
            done = reader.place();
        }
        Ok::<_, E>(())
    })?;
    reader.end()?;
    out.push_str(&text[done..]);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without_x(text: &str, last: &str) -> String {
        let edit = |name: &str, _: &str| {
            Ok::<_, Malformed>(match name {
                "x" => Edit::Drop,
                "n" => Edit::Replace("0".to_owned()),
                _ => Edit::Keep,
            })
        };
        splice(text, edit, last).unwrap()
    }

    #[test]
    fn only_the_members_named_change_and_every_other_byte_stays() {
        for (text, expected) in [
            (r#"{"a":1,"x":2}"#, r#"{"a":1}"#),
            (r#"{"x":2,"a":1}"#, r#"{"a":1}"#),
            (r#"{"x":2,"x":[{}],"a":1,"x":3}"#, r#"{"a":1}"#),
            (
                r#"{"a" : 1e400 , "x":2 , "b":"\u0041"}"#,
                r#"{"a" : 1e400  , "b":"\u0041"}"#,
            ),
            (r#" { "x" : 2 , "a" : 1 } "#, r#" { "a" : 1 } "#),
            (r#"{"\u0078":2,"a":{"x":1}}"#, r#"{"a":{"x":1}}"#),
            (r#"{"x":1,"n" : [3] ,"a":"x"}"#, r#"{"n" : 0 ,"a":"x"}"#),
            (r#"{"n":1,"x":1,"n":2}"#, r#"{"n":0,"n":0}"#),
            (r#"{"a":1 ,"x":2}"#, r#"{"a":1 }"#),
            (r#"{"x":1}"#, "{}"),
            (r#"{ "x":1, "x":2 }"#, "{}"),
            ("{}", "{}"),
        ] {
            assert_eq!(without_x(text, ""), expected, "{text}");
        }
    }

    #[test]
    fn a_member_more_comes_last_with_a_comma_only_where_one_is_needed() {
        for (text, expected) in [
            ("{}", r#"{"l":1}"#),
            (" { } ", r#" {"l":1} "#),
            (r#"{"x":2}"#, r#"{"l":1}"#),
            (r#"{"a":1 }"#, r#"{"a":1 ,"l":1}"#),
            (r#"{"a":1,"x":2}"#, r#"{"a":1,"l":1}"#),
            (r#"{"x":2,"n":1}"#, r#"{"n":0,"l":1}"#),
        ] {
            assert_eq!(without_x(text, r#""l":1"#), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_one_object_is_an_error() {
        for text in [
            "",
            "null",
            "[]",
            r#"{"a":1"#,
            r#"{"a":1,}"#,
            r#"{"a"}"#,
            "{}{}",
            r#"{"a":01}"#,
            r#"{,"a":1}"#,
            r#"{"x":"\ud800"}"#,
        ] {
            let drop = |_: &str, _: &str| Ok::<_, Malformed>(Edit::Drop);
            assert!(splice(text, drop, "").is_err(), "{text}");
        }
    }

    #[test]
    fn items_change_where_they_stand() {
        let twice = |item: &str| {
            let is_one = item == "1";
            Ok::<_, Malformed>(is_one.then(|| "[2]".to_owned()))
        };
        for (text, expected) in [
            ("[]", "[]"),
            ("[ 1 , {\"a\":1},1]", "[ [2] , {\"a\":1},[2]]"),
            ("[0,1]", "[0,[2]]"),
        ] {
            assert_eq!(splice_items(text, twice).unwrap(), expected);
        }
        for text in ["[1", "[1,]", "{}", "[1] ", "[01]"] {
            assert!(splice_items(text, twice).is_err(), "{text}");
        }
    }
}
