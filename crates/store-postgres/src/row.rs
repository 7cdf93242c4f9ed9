//! The rows that a statement answers: cells read one after another, as the select list gives them.

use std::vec::IntoIter;

use bytes::Bytes;
use thiserror::Error;

/// One cell of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// NULL of any type.
    Null,
    /// `smallint`, `integer` or `bigint`.
    Int(i64),
    /// `boolean`.
    Flag(bool),
    /// `text`, `name`, `json` or `bytea`: the bytes as they are.
    Bytes(Bytes),
}

/// A row. Its cells are taken from the left.
#[derive(Debug, Clone)]
pub struct Row {
    cells: IntoIter<Cell>,
}

/// A statement answered something else than was expected of it: a fault of this crate or of its driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a statement did not answer {0}")]
pub struct UnexpectedRow(pub &'static str);

impl Row {
    /// A row of these cells.
    pub fn new(cells: Vec<Cell>) -> Self {
        Self {
            cells: cells.into_iter(),
        }
    }

    fn next(&mut self) -> Cell {
        self.cells.next().unwrap_or(Cell::Null)
    }

    /// Takes an integer, or NULL.
    pub(crate) fn maybe_int(&mut self) -> Result<Option<i64>, UnexpectedRow> {
        match self.next() {
            Cell::Null => Ok(None),
            Cell::Int(value) => Ok(Some(value)),
            Cell::Flag(_) | Cell::Bytes(_) => Err(UnexpectedRow("an integer")),
        }
    }

    /// Takes an integer.
    pub(crate) fn int(&mut self) -> Result<i64, UnexpectedRow> {
        self.maybe_int()?.ok_or(UnexpectedRow("an integer"))
    }

    /// Takes a count.
    pub(crate) fn count(&mut self) -> Result<u64, UnexpectedRow> {
        Ok(u64::try_from(self.int()?).unwrap_or(0))
    }

    /// Takes a counter of a message; the tables keep it within `u32`.
    pub(crate) fn counter(&mut self) -> Result<u32, UnexpectedRow> {
        Ok(u32::try_from(self.int()?.max(0)).unwrap_or(u32::MAX))
    }

    /// Takes a lane.
    pub(crate) fn lane(&mut self) -> Result<u16, UnexpectedRow> {
        u16::try_from(self.int()?).map_err(|_| UnexpectedRow("a lane"))
    }

    /// Takes a boolean; NULL is false.
    pub(crate) fn flag(&mut self) -> Result<bool, UnexpectedRow> {
        match self.next() {
            Cell::Null => Ok(false),
            Cell::Flag(value) => Ok(value),
            Cell::Int(_) | Cell::Bytes(_) => Err(UnexpectedRow("a boolean")),
        }
    }

    /// Takes bytes, or NULL.
    pub(crate) fn maybe_bytes(&mut self) -> Result<Option<Bytes>, UnexpectedRow> {
        match self.next() {
            Cell::Null => Ok(None),
            Cell::Bytes(value) => Ok(Some(value)),
            Cell::Int(_) | Cell::Flag(_) => Err(UnexpectedRow("bytes")),
        }
    }

    /// Takes bytes; NULL is none.
    pub(crate) fn bytes(&mut self) -> Result<Bytes, UnexpectedRow> {
        Ok(self.maybe_bytes()?.unwrap_or_default())
    }

    /// Takes positions, one behind the other as `int8send` writes them: eight bytes each, the highest first. NULL has none at all.
    pub(crate) fn positions(&mut self) -> Result<Vec<i64>, UnexpectedRow> {
        let bytes = self.bytes()?;
        let (positions, rest) = bytes.as_chunks();
        if !rest.is_empty() {
            return Err(UnexpectedRow("positions"));
        }
        Ok(positions.iter().copied().map(i64::from_be_bytes).collect())
    }

    /// Takes a text as people see it, or NULL.
    pub(crate) fn shown(&mut self) -> Result<Option<String>, UnexpectedRow> {
        let bytes = self.maybe_bytes()?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }
}
