//! What a schema marks as sensitive.

use super::{Node, Schema};

/// A place that a schema marks as sensitive.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct SensitivePath {
    /// From the root: names with points between them, and `[]` for every item of an array: `addresses[].line`. Empty for the
    /// data itself.
    pub path: String,
    /// What the mark says: empty for `"x-gdpr-sensitive": true`.
    pub category: String,
}

impl Schema {
    /// The places that the schema marks with `x-gdpr-sensitive`, `true` or a category, sorted.
    pub fn sensitive_paths(&self) -> Vec<SensitivePath> {
        let mut paths = Vec::new();
        self.root.collect(&mut paths);
        paths.sort();
        paths
    }
}

impl Node {
    fn collect(&self, paths: &mut Vec<SensitivePath>) {
        let path = self.path.clone();
        let mark = self.sensitive.clone();
        paths.extend(mark.map(|category| SensitivePath { path, category }));
        for node in self.properties.values() {
            node.collect(paths);
        }
        if let Some(node) = &self.items {
            node.collect(paths);
        }
    }

    /// Whether something in its values, but not they themselves, is marked.
    pub(crate) fn has_marks_inside(&self) -> bool {
        let mut inside = self.properties.values().chain(self.items.as_deref());
        inside.any(|node| node.sensitive.is_some() || node.has_marks_inside())
    }
}
