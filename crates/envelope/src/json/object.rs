//! An object whose members keep their order, with one value a name.

use std::collections::BTreeMap;

use super::{Value, reader::Reader, string};
use crate::Malformed;

/// The members of an object in order. Names are distinct. Looking one up is linear, which suits the few members of a frame.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Object {
    members: Vec<(String, Value)>,
}

impl Object {
    /// Reads the object that comes next, which stands inside `outer` containers.
    pub(super) fn read(reader: &mut Reader<'_>, outer: usize) -> Result<Self, Malformed> {
        let mut members = Vec::new();
        reader.members(|reader, name| {
            members.push((name.into_owned(), Value::read(reader, outer + 1)?));
            Ok::<_, Malformed>(())
        })?;
        let members = last_wins(members);
        Ok(Self { members })
    }

    pub(crate) fn write(&self, out: &mut String) {
        out.push('{');
        for (place, (name, value)) in self.members.iter().enumerate() {
            if place > 0 {
                out.push(',');
            }
            string::write(name, out);
            out.push(':');
            value.write(out);
        }
        out.push('}');
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
            None => self.members.push((name.to_owned(), value.into())),
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
