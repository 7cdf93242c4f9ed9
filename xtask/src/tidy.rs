//! `cargo xtask tidy`: what no compiler checks. A sentence on top of every file, complete manifests, links that resolve.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::metadata::{self, Workspace};
use crate::shell::{self, Failure, Result};

mod links;
mod manifests;
mod sources;

const FIX: &str = "mend each line above where it says";

pub(crate) fn run() -> Result {
    let workspace = metadata::read()?;
    let mut offences = Vec::new();
    for package in &workspace.packages {
        offences.extend(manifests::offences(package, &read(&package.manifest_path)?));
    }
    for path in files(&workspace)? {
        let name = path.strip_prefix(&workspace.root).unwrap_or(&path);
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("rs") => {
                let text = read(&path)?;
                offences.extend(sources::offences(name, &text));
                if let Some(warning) = sources::warning(name, &text) {
                    println!("warning: {warning}");
                }
            }
            Some("md") => {
                let there = |link: &str| path.with_file_name("").join(link).exists();
                offences.extend(links::offences(name, &read(&path)?, there));
            }
            _ => {}
        }
    }
    shell::report("tidy", &offences, FIX)
}

/// Every file of the packages and of `docs/`, and the pages beside them, in a fixed order. Build output and dot folders
/// are left out.
fn files(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    walk(&workspace.root, &workspace.target_directory, &mut files)
        .map_err(|error| Failure::new(format!("cannot list the workspace: {error}"), FIX))?;
    files.sort();
    Ok(files)
}

fn walk(folder: &Path, build: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if hidden || path == build {
            continue;
        }
        if entry.file_type()?.is_dir() {
            walk(&path, build, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display()), FIX))
}
