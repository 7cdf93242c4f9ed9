//! Programs in Python and in JavaScript that print lines of JSON.

use std::{
    env, fmt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};

/// How many bytes are shown of those that a test did not expect.
const SHOWN: usize = 1_000;

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What the variable names, or what was brought to this place in the target folder.
fn tool(variable: &str, place: &str) -> PathBuf {
    let named = env::var_os(variable).filter(|path| !path.is_empty());
    let brought = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name(place);
    match named {
        Some(path) => path.into(),
        None if brought.exists() => brought,
        None => panic!(
            "{variable} names nothing: run `cargo xtask test`, which brings what the files in tests/interop pin"
        ),
    }
}

/// Runs a program of `tests/interop` in the virtual environment that has the packages. The examples of `docs/interop` are modules
/// to it.
pub(crate) fn python<T: DeserializeOwned>(program: &str, arguments: &[&str]) -> Vec<T> {
    let mut command = Command::new(tool("OUTBOX_TEST_PYTHON", "python/bin/python"));
    command
        .env("PYTHONPATH", root().join("docs/interop"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PYTHONUTF8", "1");
    run(command, program, arguments)
}

/// Runs a program of `tests/interop/node`, with the packages that it requires.
pub(crate) fn node<T: DeserializeOwned>(program: &str, arguments: &[&str]) -> Vec<T> {
    let mut command = Command::new("node");
    command.env(
        "NODE_PATH",
        tool("OUTBOX_TEST_NODE_MODULES", "node/node_modules"),
    );
    run(command, &format!("node/{program}"), arguments)
}

/// Runs a program to its end and returns what it printed. What it says besides is shown if it fails.
fn run<T: DeserializeOwned>(mut command: Command, program: &str, arguments: &[&str]) -> Vec<T> {
    command
        .arg(root().join("tests/interop").join(program))
        .args(arguments)
        .stdin(Stdio::null());
    let output = tokio::task::block_in_place(|| command.output()).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} failed:\n{said}");
    let printed = String::from_utf8(output.stdout).unwrap();
    printed
        .lines()
        .map(|line| {
            serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("{program} printed {line}: {error}"))
        })
        .collect()
}

/// Bytes, in JSON as base64. They are shown as text, since nearly all are, and no more of them than can be read.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.get(..SHOWN).unwrap_or(&self.0);
        let text = shown.escape_ascii();
        write!(f, "{} bytes: \"{text}\"", self.0.len())
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let bytes = STANDARD.decode(text).map_err(serde::de::Error::custom)?;
        Ok(Self(bytes))
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(&self.0))
    }
}
