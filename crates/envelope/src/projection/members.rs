//! Reading a few members of a JSON object and passing over the rest: nothing is built for what is not asked for, and no
//! depth of nesting costs stack. Less strict than decoding an envelope: numbers and strings that nobody asked for are
//! only checked for their syntax.

use std::{borrow::Cow, fmt};

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// A member's value as it is written, if the member is there.
pub(super) type Member<'a> = Option<&'a RawValue>;

/// The members `names` of the JSON object that is `text`; the last one of a repeated name, as everywhere in this crate.
/// `None` if `text` is something else.
pub(super) fn members<'a, const N: usize>(
    text: &'a str,
    names: [&str; N],
) -> Option<[Member<'a>; N]> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let found = deserializer.deserialize_map(Members(names)).ok()?;
    deserializer.end().ok()?;
    Some(found)
}

/// The string that a member is, unless it is empty.
pub(super) fn text(member: Member<'_>) -> Option<Cow<'_, str>> {
    let literal = member?.get();
    let inner = literal.strip_prefix('"')?.strip_suffix('"')?;
    let text = if inner.contains('\\') {
        Cow::Owned(serde_json::from_str(literal).ok()?)
    } else {
        Cow::Borrowed(inner)
    };
    (!text.is_empty()).then_some(text)
}

/// The integer that a member is: written without fraction and exponent, and of 64 bits.
pub(super) fn integer(member: Member<'_>) -> Option<i64> {
    member?.get().parse().ok()
}

struct Members<'n, const N: usize>([&'n str; N]);

impl<'de, const N: usize> Visitor<'de> for Members<'_, N> {
    type Value = [Member<'de>; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = [None; N];
        while let Some(place) = map.next_key_seed(Place(&self.0))? {
            match place {
                Some(place) => found[place] = Some(map.next_value()?),
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }
}

/// Where a name stands among those that are asked for.
struct Place<'n>(&'n [&'n str]);

impl<'de> DeserializeSeed<'de> for Place<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Place<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|known| *known == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_wherever_they_stand_and_the_last_of_a_name_counts() {
        let object = r#" {"x":{"a":0},"a":1,"\u0062":"é\n","a":[{"b":2}]} "#;
        let [a, b, c] = members(object, ["a", "b", "c"]).unwrap();
        assert_eq!(a.map(RawValue::get), Some(r#"[{"b":2}]"#));
        assert_eq!(text(b).as_deref(), Some("é\n"));
        assert!(c.is_none());
    }

    #[test]
    fn what_is_not_one_object_has_no_members() {
        for other in [
            "",
            "null",
            "[]",
            "\"a\"",
            "{}{}",
            "{\"a\":1",
            "{\"a\":NaN}",
            "\u{feff}{}",
        ] {
            assert!(members(other, ["a"]).is_none(), "{other}");
        }
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(members(&deep, ["a"]).is_some());
        assert!(members(&deep, ["b"]).is_some());
    }

    #[test]
    fn a_member_of_another_type_is_neither_text_nor_integer() {
        let object = r#"{"a":1.0,"b":true,"c":"","d":"\ud800","e":9223372036854775808,"f":"1","g":-0,"h":"\\"}"#;
        let found = members(object, ["a", "b", "c", "d", "e", "f", "g", "h"]).unwrap();
        let texts = found.map(|member| text(member).map(Cow::into_owned));
        let expected = [None, None, None, None, None, Some("1"), None, Some("\\")];
        assert_eq!(texts, expected.map(|text| text.map(str::to_owned)));
        let integers = [None, None, None, None, None, None, Some(0), None];
        assert_eq!(found.map(integer), integers);
    }
}
