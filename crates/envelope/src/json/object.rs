//! An object whose members keep their order, with one value a name.

use std::collections::BTreeMap;

use super::Value;

/// The members of an object in order. Names are distinct; looking one up is linear, which suits the few members of a frame.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Object {
    members: Vec<(String, Value)>,
}

impl Object {
    /// Takes `members`; of a repeated name the last value stays, in the place of the first.
    pub(crate) fn last_wins(members: Vec<(String, Value)>) -> Self {
        let mut places = BTreeMap::new();
        if members
            .iter()
            .enumerate()
            .all(|(place, (name, _))| places.insert(name.as_str(), place).is_none())
        {
            return Self { members };
        }
        let mut places = BTreeMap::new();
        let mut kept: Vec<(String, Value)> = Vec::with_capacity(members.len());
        for (name, value) in members {
            if let Some(&place) = places.get(&name) {
                let (_, earlier): &mut (String, Value) = &mut kept[place];
                *earlier = value;
            } else {
                places.insert(name.clone(), kept.len());
                kept.push((name, value));
            }
        }
        Self { members: kept }
    }

    pub(crate) fn members(&self) -> &[(String, Value)] {
        &self.members
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

#[cfg(test)]
mod tests {
    use super::*;

    fn object(members: &[(&str, i64)]) -> Object {
        Object::last_wins(
            members
                .iter()
                .map(|(name, value)| ((*name).to_owned(), Value::from(*value)))
                .collect(),
        )
    }

    #[test]
    fn of_a_repeated_name_the_last_value_stays_in_the_first_place() {
        assert_eq!(
            object(&[("b", 1), ("a", 2), ("b", 3), ("c", 4), ("b", 5)]),
            object(&[("b", 5), ("a", 2), ("c", 4)])
        );
    }

    #[test]
    fn setting_a_member_keeps_its_place_and_removing_one_keeps_the_order() {
        let mut some = object(&[("a", 1), ("b", 2), ("c", 3)]);
        some.set("a", 9);
        some.set("d", 4);
        assert_eq!(some.remove("b"), Some(Value::from(2)));
        assert_eq!(some, object(&[("a", 9), ("c", 3), ("d", 4)]));
    }
}
