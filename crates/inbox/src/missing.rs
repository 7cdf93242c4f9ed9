//! Data that an envelope does not have, read as the type of a function.

use serde::{
    Deserializer,
    de::{DeserializeOwned, Visitor, value::MapDeserializer},
    forward_to_deserialize_any,
};
use serde_json::Error;

/// Reads missing data, or `null`: as `None` or `()` for those who know it, and for others as the empty object that handlers of the format get.
pub(crate) fn read<T: DeserializeOwned>() -> Result<T, Error> {
    // A type that decides by what it sees may want to see `null` and no object.
    T::deserialize(Missing).or_else(|error| serde_json::from_str("null").map_err(|_| error))
}

struct Missing;

impl<'de> Deserializer<'de> for Missing {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let nothing = std::iter::empty::<(&str, &str)>();
        visitor.visit_map(MapDeserializer::new(nothing))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_none()
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
