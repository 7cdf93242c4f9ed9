//! `cargo xtask lint`: everything that is wrong with the code without running it.

use crate::shell::{self, Result, cargo};

pub(crate) fn run() -> Result {
    shell::run(&mut cargo(["fmt", "--all", "--check"]), "cargo fmt --all")?;
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
        "follow the warnings above; an allow carries its reason",
    )?;
    shell::run(
        cargo(["doc", "--profile", "ci", "--workspace", "--no-deps"])
            .env("RUSTDOCFLAGS", "-D warnings"),
        "follow the warnings above",
    )
}
