//! An object whose members keep their order, with one value a name.

use std::{borrow::Cow, collections::BTreeMap};

use super::{Value, reader::Reader, string};
use crate::Malformed;

/// The members of an object in order. Names are distinct. Looking one up is linear, which suits the few members of a frame.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Object {
    members: Vec<(Name, Value)>,
}

/// Names that the format knows are not copied.
type Name = Cow<'static, str>;

/// Up to so many members of an object are compared pair by pair.
const FEW: usize = 16;

impl Object {
    /// Reads the object that comes next, which stands inside `outer` containers.
    pub(super) fn read(reader: &mut Reader<'_>, outer: usize) -> Result<Self, Malformed> {
        let mut members = Vec::with_capacity(8);
        reader.members(|reader, name| {
            let name = owned(name);
            let value = if outer == 0 && name != "data" && reader.peek() == Some(b'{') {
                Self::read(reader, 1).map(Value::Object)?
            } else {
                Value::read(reader, outer + 1)?
            };
            members.push((name, value));
            Ok::<_, Malformed>(())
        })?;
        if members.len() < 4 {
            // An envelope may have many small ones.
            members.shrink_to_fit();
        }
        if is_plainly_distinct(&members) {
            return Ok(Self { members });
        }
        let members = last_wins(members);
        Ok(Self { members })
    }

    pub(crate) fn write(&self, out: &mut String) {
        let mut open = '{';
        for (name, value) in &self.members {
            out.push(open);
            string::write(name, out);
            out.push(':');
            value.write(out);
            open = ',';
        }
        out.push_str(if self.members.is_empty() { "{}" } else { "}" });
    }

    /// About how many bytes it takes when it is written.
    pub(crate) fn length(&self) -> usize {
        let length = |(name, value): &(Name, Value)| name.len() + value.length() + 4;
        2 + self.members.iter().map(length).sum::<usize>()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.members
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        self.members
            .iter_mut()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value)
    }

    /// Sets a member where it stands, or at the end.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        match self.get_mut(name) {
            Some(known) => *known = value.into(),
            None => self.members.push((owned(name.into()), value.into())),
        }
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<Value> {
        let place = self.members.iter().position(|(known, _)| known == name)?;
        Some(self.members.remove(place).1)
    }
}

/// Of repeated names the last value stays, in the place of the first.
pub(crate) fn last_wins<N: Clone + Ord, V>(members: Vec<(N, V)>) -> Vec<(N, V)> {
    let mut places = BTreeMap::new();
    let mut kept: Vec<(N, V)> = Vec::with_capacity(members.len());
    for (name, value) in members {
        if let Some(&place) = places.get(&name) {
            kept[place] = (name, value);
        } else {
            places.insert(name.clone(), kept.len());
            kept.push((name, value));
        }
    }
    kept
}

/// Whether there are few members and no name is repeated. Compares each with each, which is fast for a few.
pub(super) fn is_plainly_distinct<N: PartialEq, V>(members: &[(N, V)]) -> bool {
    if members.len() > FEW {
        return false;
    }
    let mut earlier = members.iter().enumerate();
    earlier.all(|(place, (name, _))| members[..place].iter().all(|(other, _)| other != name))
}

#[inline]
fn owned(name: Cow<'_, str>) -> Name {
    match &*name {
        "job" => Cow::Borrowed("job"),
        "trace_id" => Cow::Borrowed("trace_id"),
        "data" => Cow::Borrowed("data"),
        "meta" => Cow::Borrowed("meta"),
        "attempts" => Cow::Borrowed("attempts"),
        "id" => Cow::Borrowed("id"),
        "queue" => Cow::Borrowed("queue"),
        "lang" => Cow::Borrowed("lang"),
        "schema_version" => Cow::Borrowed("schema_version"),
        "created_at" => Cow::Borrowed("created_at"),
        _ => Cow::Owned(name.into_owned()),
    }
}
