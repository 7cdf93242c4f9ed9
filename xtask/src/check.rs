//! `cargo xtask check`: what to run before a commit, lint and then test.

use crate::shell::Result;
use crate::{lint, test};

pub(crate) fn run() -> Result {
    lint::run()?;
    test::run(&[])
}
