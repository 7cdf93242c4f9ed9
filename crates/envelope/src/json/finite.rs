//! Looks for floats that JSON cannot write. `serde_json` writes `null` for them; a value that got lost must be an error.

use std::fmt::Display;

use serde::{
    Serialize, Serializer,
    ser::{
        Error, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant,
    },
};

/// An error if `value` serializes a float that is infinite or not a number.
pub(super) fn check<T: Serialize + ?Sized>(value: &T) -> Result<(), serde_json::Error> {
    value.serialize(Check)
}

/// A serializer that writes nothing. As a compound it serves its parts.
struct Check;

fn finite(float: f64) -> Result<(), serde_json::Error> {
    if float.is_finite() {
        Ok(())
    } else {
        Err(Error::custom("a float is infinite or not a number"))
    }
}

macro_rules! pass {
    ($($method:ident($($argument:ty),*);)*) => {
        $(fn $method(self, $(_: $argument),*) -> Result<(), serde_json::Error> {
            Ok(())
        })*
    };
}

macro_rules! open {
    ($($method:ident($($argument:ty),*);)*) => {
        $(fn $method(self, $(_: $argument),*) -> Result<Self, serde_json::Error> {
            Ok(self)
        })*
    };
}

impl Serializer for Check {
    type Ok = ();
    type Error = serde_json::Error;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    fn serialize_f32(self, float: f32) -> Result<(), serde_json::Error> {
        finite(f64::from(float))
    }

    fn serialize_f64(self, float: f64) -> Result<(), serde_json::Error> {
        finite(float)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), serde_json::Error> {
        check(value)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), serde_json::Error> {
        check(value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), serde_json::Error> {
        check(value)
    }

    fn collect_str<T: Display + ?Sized>(self, _: &T) -> Result<(), serde_json::Error> {
        Ok(())
    }

    pass! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_i128(i128);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_u128(u128);
        serialize_char(char);
        serialize_str(&str);
        serialize_bytes(&[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(&'static str);
        serialize_unit_variant(&'static str, u32, &'static str);
    }

    open! {
        serialize_seq(Option<usize>);
        serialize_tuple(usize);
        serialize_tuple_struct(&'static str, usize);
        serialize_tuple_variant(&'static str, u32, &'static str, usize);
        serialize_map(Option<usize>);
        serialize_struct(&'static str, usize);
        serialize_struct_variant(&'static str, u32, &'static str, usize);
    }
}

macro_rules! parts {
    ($($compound:ident { $($method:ident($($name:ty)?))* })*) => {
        $(impl $compound for Check {
            type Ok = ();
            type Error = serde_json::Error;

            $(fn $method<T: Serialize + ?Sized>(&mut self, $(_: $name,)? value: &T) -> Result<(), serde_json::Error> {
                check(value)
            })*

            fn end(self) -> Result<(), serde_json::Error> {
                Ok(())
            }
        })*
    };
}

parts! {
    SerializeSeq { serialize_element() }
    SerializeTuple { serialize_element() }
    SerializeTupleStruct { serialize_field() }
    SerializeTupleVariant { serialize_field() }
    SerializeMap { serialize_key() serialize_value() }
    SerializeStruct { serialize_field(&'static str) }
    SerializeStructVariant { serialize_field(&'static str) }
}
