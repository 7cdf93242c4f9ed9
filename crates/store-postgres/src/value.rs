//! The parameters of a statement: few kinds, so that every driver can bind them.

/// A parameter. The statements cast where a column has another type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// `bigint`.
    Int(i64),
    /// `bigint`, or NULL.
    MaybeInt(Option<i64>),
    /// `boolean`.
    Flag(bool),
    /// `text`, or NULL.
    Text(Option<&'a str>),
    /// `bytea`.
    Bytes(&'a [u8]),
    /// `bigint[]`.
    Ints(&'a [i64]),
    /// `bigint[]` with NULLs.
    MaybeInts(&'a [Option<i64>]),
    /// `boolean[]`.
    Flags(&'a [bool]),
    /// `text[]` with NULLs.
    Texts(&'a [Option<&'a str>]),
    /// `bytea[]`.
    ManyBytes(&'a [&'a [u8]]),
}
