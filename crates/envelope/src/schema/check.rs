//! Checking data against a schema. It recurses as deep as the schema, never as deep as the data, and reads what the schema does
//! not ask for only as far as to pass over it.

use super::{
    InvalidData, Kind, Node, Rule, Schema, Violation,
    parse::{double, members},
};
use crate::json::{Number, Reader, SPACE, canonical, skip};

impl Schema {
    /// Checks `data`, which is JSON text, such as [`Envelope::data`](crate::Envelope::data) and
    /// [`Received::data`](crate::Received::data) give.
    ///
    /// # Errors
    ///
    /// [`InvalidData`] with the first rule that is broken.
    pub fn check(&self, data: &str) -> Result<(), InvalidData> {
        let data = data.trim_matches(SPACE);
        let mut reader = Reader::new(data);
        skip(&mut reader, 1)?;
        reader.end()?;
        self.root.check(data)
    }
}

/// A rule that the value itself breaks. Whoever asked adds where it stands.
fn broken(rule: Rule) -> InvalidData {
    let path = String::new();
    InvalidData::Violation(Violation { path, rule })
}

fn hold(holds: bool, rule: Rule) -> Result<(), InvalidData> {
    if holds { Ok(()) } else { Err(broken(rule)) }
}

/// Puts `before` in front of the path of what was found.
fn inside(before: &str, found: InvalidData) -> InvalidData {
    match found {
        InvalidData::Violation(mut violation) => {
            let joint = match violation.path.as_bytes().first() {
                None | Some(b'[') => "",
                Some(_) => ".",
            };
            violation.path = format!("{before}{joint}{}", violation.path);
            InvalidData::Violation(violation)
        }
        malformed @ InvalidData::Malformed(_) => malformed,
    }
}

impl Node {
    /// `text` is one JSON value without white space around it.
    fn check(&self, text: &str) -> Result<(), InvalidData> {
        if self.constant.is_some() || self.one_of.is_some() {
            let value = canonical(text, 1)?;
            let is_constant = self.constant.as_ref().is_none_or(|one| *one == value);
            hold(is_constant, Rule::Const)?;
            let is_one = self.one_of.as_ref().is_none_or(|all| all.contains(&value));
            hold(is_one, Rule::Enum)?;
        }
        match self.kind {
            None => Ok(()),
            Some(Kind::Object) => self.check_object(text),
            Some(Kind::Array) => self.check_array(text),
            Some(Kind::String) => self.check_string(text),
            Some(Kind::Integer) => {
                let is_integer = match Reader::new(text).number().transpose()? {
                    Some(Number::Double(double)) => double.fract() == 0.0,
                    Some(number) => number.is_integer(),
                    None => false,
                };
                hold(is_integer, Rule::Integer)?;
                self.check_minimum(text)
            }
            Some(Kind::Number) => {
                let is_number = Reader::new(text).number().is_some();
                hold(is_number, Rule::Number)?;
                self.check_minimum(text)
            }
            Some(Kind::Boolean) => hold(matches!(text, "true" | "false"), Rule::Boolean),
            Some(Kind::Null) => hold(text == "null", Rule::Null),
        }
    }

    fn check_object(&self, text: &str) -> Result<(), InvalidData> {
        hold(text.starts_with('{'), Rule::Object)?;
        let members = members(text)?;
        let is_there = |name: &&String| members.iter().any(|(member, _)| member == *name);
        if let Some(missing) = self.required.iter().find(|name| !is_there(name)) {
            return Err(inside(missing, broken(Rule::Required)));
        }
        for (name, value) in &members {
            match self.properties.get(&**name) {
                Some(property) => property.check(value),
                None => hold(!self.is_closed, Rule::Additional),
            }
            .map_err(|found| inside(name, found))?;
        }
        Ok(())
    }

    fn check_array(&self, text: &str) -> Result<(), InvalidData> {
        hold(text.starts_with('['), Rule::Array)?;
        let Some(schema) = &self.items else {
            return Ok(());
        };
        let mut place: u64 = 0;
        Reader::new(text).items(|reader| {
            let start = reader.place();
            skip(reader, 1)?;
            let checked = schema.check(reader.since(start));
            checked.map_err(|found| inside(&format!("[{place}]"), found))?;
            place += 1;
            Ok(())
        })
    }

    fn check_string(&self, text: &str) -> Result<(), InvalidData> {
        let Some(string) = Reader::new(text).text() else {
            return Err(broken(Rule::String));
        };
        let Some(least) = self.min_length else {
            return Ok(());
        };
        let length = u32::try_from(string?.chars().count()).unwrap_or(u32::MAX);
        hold(f64::from(length) >= least, Rule::MinLength)
    }

    fn check_minimum(&self, text: &str) -> Result<(), InvalidData> {
        let (Some(minimum), Some(value)) = (self.minimum, double(text)) else {
            return Ok(());
        };
        hold(value >= minimum, Rule::Minimum)
    }
}
