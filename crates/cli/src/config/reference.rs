//! References to secrets in a file: `${env:NAME}` and `${file:PATH}`. A secret need not stand in the file itself.

use std::{env, fs};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use thiserror::Error;

/// What a password may hold that would end it in a URL.
const IN_URL: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Why a reference cannot be resolved.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum Unresolved {
    #[error("the variable {0} is not set")]
    NotSet(String),
    #[error("cannot read {path}: {error}")]
    NotRead { path: String, error: String },
    #[error("a reference is written ${{env:NAME}} or ${{file:PATH}}")]
    Unknown,
}

/// The text with its references replaced by what they lead to. Inside a longer text, which is a URL, what they lead to is
/// percent-encoded, so that a password may hold any character; a text that is nothing but a reference becomes what it leads to.
pub(super) fn resolve(text: &str) -> Result<String, Unresolved> {
    let (mut resolved, mut rest) = (String::new(), text);
    while let Some((before, more)) = rest.split_once("${") {
        let (reference, after) = more.split_once('}').ok_or(Unresolved::Unknown)?;
        let value = look_up(reference)?;
        if reference.len() + "${}".len() == text.len() {
            return Ok(value);
        }
        resolved.push_str(before);
        resolved.extend(utf8_percent_encode(&value, IN_URL));
        rest = after;
    }
    resolved.push_str(rest);
    Ok(resolved)
}

fn look_up(reference: &str) -> Result<String, Unresolved> {
    match reference.split_once(':') {
        Some(("env", name)) => env::var(name).map_err(|_| Unresolved::NotSet(name.to_owned())),
        Some(("file", path)) => match fs::read_to_string(path) {
            // Editors and `echo` end a line; no secret ends in one.
            Ok(text) => Ok(text.trim_end_matches(['\r', '\n']).to_owned()),
            Err(error) => Err(Unresolved::NotRead {
                path: path.to_owned(),
                error: error.to_string(),
            }),
        },
        _ => Err(Unresolved::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_of_a_file_fits_into_a_url_whatever_it_holds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        fs::write(&path, "p@ss/w:rd?\n").unwrap();
        let path = path.display();
        assert_eq!(
            resolve(&format!("amqp://app:${{file:{path}}}@mq/v")).unwrap(),
            "amqp://app:p%40ss%2Fw%3Ard%3F@mq/v"
        );
        assert_eq!(resolve(&format!("${{file:{path}}}")).unwrap(), "p@ss/w:rd?");
        let twice = format!("redis://${{file:{path}}}:${{file:{path}}}@r");
        assert_eq!(
            resolve(&twice).unwrap(),
            "redis://p%40ss%2Fw%3Ard%3F:p%40ss%2Fw%3Ard%3F@r"
        );
    }

    #[test]
    fn a_reference_that_leads_nowhere_is_named() {
        let unset = Unresolved::NotSet("OUTBOX_NOT_SET".to_owned());
        assert_eq!(resolve("a${env:OUTBOX_NOT_SET}"), Err(unset));
        assert_eq!(resolve("${secret}"), Err(Unresolved::Unknown));
        assert_eq!(resolve("${env:X"), Err(Unresolved::Unknown));
        let error = resolve("${file:/nowhere/at/all}").unwrap_err();
        assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
    }
}
