//! `cargo xtask lint`: everything that can be wrong with the code without running it. All of it is checked before the
//! first failure is reported.

use crate::shell::{self, Failure, Result, cargo};
use crate::{layers, tidy};

pub(crate) fn run() -> Result {
    let failures: Vec<_> = [format(), tidy::run(), layers::run(), clippy(), docs()]
        .into_iter()
        .filter_map(Result::err)
        .collect();
    Failure::join(failures)
}

fn format() -> Result {
    shell::run(&mut cargo(["fmt", "--all", "--check"]), "cargo fmt --all")
}

fn clippy() -> Result {
    shell::run(
        &mut cargo([
            "clippy",
            "--profile",
            "ci",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]),
        "follow clippy's advice above; an exception carries its reason",
    )
}

fn docs() -> Result {
    shell::run(
        cargo(["doc", "--profile", "ci", "--workspace", "--no-deps"])
            .env("RUSTDOCFLAGS", "-D warnings"),
        "follow rustdoc's advice above",
    )
}
