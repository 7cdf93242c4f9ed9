//! Copies the schema of the peer out of its published crate, which brings it as a folder of migrations.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../Cargo.lock");
    let mut migrations = fs::read_dir(peer()?.join("migrations"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<PathBuf>, Box<dyn Error>>>()?;
    // Their names begin with their dates.
    migrations.sort();
    let mut schema = String::new();
    for migration in migrations {
        schema += &fs::read_to_string(migration)?;
        schema += "\n";
    }
    fs::write(
        PathBuf::from(env::var("OUT_DIR")?).join("schema.sql"),
        schema,
    )?;
    Ok(())
}

/// The folder of the peer's source.
fn peer() -> Result<PathBuf, Box<dyn Error>> {
    let output = Command::new(env::var("CARGO")?)
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .arg("--filter-platform")
        .arg(env::var("TARGET")?)
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    packages
        .find(|package| package["name"] == "outbox-postgres")
        .and_then(|package| Path::new(package["manifest_path"].as_str()?).parent())
        .map(Path::to_path_buf)
        .ok_or_else(|| "cargo knows no source of outbox-postgres".into())
}
