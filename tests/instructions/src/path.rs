//! The paths by name.

use std::fmt;

use crate::meter::Meter;

mod backoff;
mod envelope;
mod lane;

/// One way through the code.
pub(crate) struct Path {
    /// The crate and what is done.
    pub(crate) name: String,
    go: Box<dyn Fn(Meter)>,
}

impl Path {
    fn new(name: impl Into<String>, go: impl Fn(Meter) + 'static) -> Self {
        Self {
            name: name.into(),
            go: Box::new(go),
        }
    }

    /// Goes it once. What is prepared for it is not counted.
    pub(crate) fn go(&self, meter: Meter) {
        (self.go)(meter);
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Path").field(&self.name).finish()
    }
}

/// Every path that is watched.
pub(crate) fn all() -> Vec<Path> {
    let mut all = Vec::new();
    all.extend(envelope::paths());
    all.extend(lane::paths());
    all.extend(backoff::paths());
    all
}
