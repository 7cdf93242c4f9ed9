//! `cargo xtask dist`: the program as one file that needs no library of the machine it runs on, for releases and containers.
//!
//! It is built for a musl target unless another one is named: that is linked statically, and looks names up without
//! modules of the C library. A target of glibc works too, with what glibc says about static programs.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::metadata;
use crate::shell::{self, Failure, Result, cargo};

const PROGRAM: &str = "outbox";

/// Builds for the target, or for the musl target of this machine's processor, and leaves the program in `target/dist`.
pub(crate) fn run(target: Option<&str>) -> Result {
    let host = host()?;
    let target = target.map_or_else(|| musl(&host), str::to_owned);
    let fix = format!(
        "rustup target add {target}, and a C compiler for it \
         (musl on Debian and Ubuntu: apt-get install musl-tools; on Alpine: apk add gcc musl-dev)"
    );
    let folder = metadata::read()?.target_directory;
    let flags = format!(r#"target.{target}.rustflags=["-C", "target-feature=+crt-static"]"#);
    let mut build = cargo([
        "build",
        "--release",
        "--locked",
        "-p",
        "outbox-cli",
        "--features",
        "kafka",
    ]);
    build.args(["--target", &target, "--config", &flags]);
    if let Some((variable, compiler)) = c_compiler(&host, &target)
        && std::env::var_os(&variable).is_none()
    {
        build.env(variable, compiler);
    }
    shell::run(&mut build, &fix)?;

    let output = folder.join(&target).join("release").join(PROGRAM);
    let program = folder.join("dist").join(PROGRAM);
    let bytes = fs::read(&output).map_err(|error| unusable(&output, &error))?;
    if needs_loader(&bytes) != Some(false) {
        return Err(Failure::new(
            format!("{} is not linked statically", output.display()),
            "build for a Linux target, and unset RUSTFLAGS, which replaces the flags that this command gives",
        ));
    }
    place(&bytes, &program).map_err(|error| unusable(&program, &error))?;
    if arch(&target) == arch(&host) {
        let fix = "the program needs something that a bare environment does not have";
        let mut version = Command::new(&program);
        shell::run(version.arg("--version").env_clear(), fix)?;
    }
    let mib = bytes.len().div_ceil(1024 * 1024);
    println!("{} ({mib} MiB, {target})", program.display());
    Ok(())
}

/// The target that the compiler builds for by default.
fn host() -> Result<String> {
    let fix = "install Rust: rustc must be found";
    let said = shell::read(Command::new("rustc").arg("-vV"), fix)?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| Failure::new("rustc -vV names no host", fix))
}

/// The musl target of the same processor.
fn musl(host: &str) -> String {
    format!("{}-unknown-linux-musl", arch(host))
}

fn arch(target: &str) -> &str {
    target.split('-').next().unwrap_or(target)
}

/// The compiler for the C parts, and the variable that names it, if it is another one than usual: headers of glibc must
/// not be mixed with musl.
fn c_compiler(host: &str, target: &str) -> Option<(String, &'static str)> {
    let differs = target.ends_with("-musl") && !host.ends_with("-musl");
    let is_native = arch(host) == arch(target);
    (differs && is_native).then(|| (format!("CC_{}", target.replace('-', "_")), "musl-gcc"))
}

/// Puts the program in its place, as a new file: one that runs cannot be written.
fn place(bytes: &[u8], program: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    fs::create_dir_all(program.with_file_name(""))?;
    let part = program.with_extension("part");
    fs::write(&part, bytes)?;
    fs::set_permissions(&part, fs::Permissions::from_mode(0o755))?;
    fs::rename(part, program)
}

fn unusable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(
        format!("{}: {error}", path.display()),
        "see that the folder can be read and written",
    )
}

/// Whether a program names a loader, which links it with libraries of the machine when it starts. `None` if it is no ELF
/// file of 64 bits in little-endian order.
fn needs_loader(file: &[u8]) -> Option<bool> {
    /// The kind of the segment with the loader's path.
    const INTERPRETER: u64 = 3;

    if !file.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let number = |at: usize, length: usize| -> Option<u64> {
        let bytes = file.get(at..at.checked_add(length)?)?;
        let digits = bytes.iter().rev();
        Some(digits.fold(0, |number, byte| (number << 8) | u64::from(*byte)))
    };
    let index = |at, length| usize::try_from(number(at, length)?).ok();
    let (table, size, count) = (index(32, 8)?, index(54, 2)?, index(56, 2)?);
    for entry in 0..count {
        if number(table.checked_add(entry * size)?, 4)? == INTERPRETER {
            return Some(true);
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The head of an ELF file with segments of these kinds.
    fn elf(kinds: &[u8]) -> Vec<u8> {
        let mut file = vec![0; 64];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[32] = 64;
        file[54] = 56;
        file[56] = u8::try_from(kinds.len()).expect("a test has few segments");
        for kind in kinds {
            let mut segment = [0; 56];
            segment[0] = *kind;
            file.extend(segment);
        }
        file
    }

    #[test]
    fn a_program_that_names_a_loader_is_told_from_one_that_does_not() {
        // Code, then what a static program that can be loaded anywhere has too.
        assert_eq!(needs_loader(&elf(&[1, 2])), Some(false));
        assert_eq!(needs_loader(&elf(&[1, 3, 2])), Some(true));
        assert_eq!(needs_loader(&elf(&[1, 2])[..100]), None);
        assert_eq!(needs_loader(b"#!/bin/sh\n"), None);
    }

    #[test]
    fn the_c_parts_are_compiled_for_the_same_c_library() {
        let (gnu, musl) = ("x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl");
        let variable = "CC_x86_64_unknown_linux_musl".to_owned();
        assert_eq!(c_compiler(gnu, musl), Some((variable, "musl-gcc")));
        assert_eq!(c_compiler(musl, musl), None);
        assert_eq!(c_compiler(gnu, gnu), None);
        assert_eq!(c_compiler(gnu, "aarch64-unknown-linux-musl"), None);
        assert_eq!(super::musl(gnu), musl);
    }
}
