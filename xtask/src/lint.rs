//! `cargo xtask lint`: everything that can be wrong with the code without running it. All of it is checked before the
//! first failure is reported.

use crate::shell::{self, Failure, Result, cargo};
use crate::{layers, tidy};

/// What is tested beside the default: the program has Kafka, as in a release. Its TLS is left out, which compiles OpenSSL.
pub(crate) const EVERY_PART: &str = "outbox-cli/kafka";
const CLIPPY: &str = "follow clippy's advice above; an exception carries its reason";

pub(crate) fn run() -> Result {
    let checks = [
        format(),
        tidy::run(),
        layers::run(),
        clippy(),
        lean(),
        docs(),
    ];
    let failures: Vec<_> = checks.into_iter().filter_map(Result::err).collect();
    Failure::join(failures)
}

fn format() -> Result {
    shell::run(&mut cargo(["fmt", "--all", "--check"]), "cargo fmt --all")?;
    // Workspaces of their own, which nothing else here compiles.
    let fuzz = "--manifest-path=fuzz/Cargo.toml";
    shell::run(
        &mut cargo(["fmt", fuzz, "--check"]),
        &format!("cargo fmt {fuzz}"),
    )?;
    let peers = "--manifest-path=tests/peers/Cargo.toml";
    shell::run(
        &mut cargo(["fmt", "--all", peers, "--check"]),
        &format!("cargo fmt --all {peers}"),
    )
}

fn clippy() -> Result {
    shell::run(
        &mut cargo([
            "clippy",
            "--profile",
            "ci",
            "--workspace",
            "--features",
            EVERY_PART,
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]),
        CLIPPY,
    )
}

/// The program as `cargo install` makes it.
fn lean() -> Result {
    let command = [
        "clippy",
        "--profile",
        "ci",
        "-p",
        "outbox-cli",
        "--",
        "-D",
        "warnings",
    ];
    shell::run(&mut cargo(command), CLIPPY)
}

fn docs() -> Result {
    shell::run(
        cargo(["doc", "--profile", "ci", "--workspace", "--no-deps"])
            .env("RUSTDOCFLAGS", "-D warnings"),
        "follow rustdoc's advice above",
    )
}
