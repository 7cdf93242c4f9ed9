//! The files that a publisher reads while it runs: secrets, a token, further headers. They are read again after a while, so that they
//! can be renewed, and at once when a receiver refuses the credentials.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use outbox_publisher::{PublishError, PublishErrorKind};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use tokio::time::Instant;

use crate::{Credentials, HttpConfig, Secret, headers};

/// How long what was read is used.
const FRESH: Duration = Duration::from_secs(5);

/// What every request has, whatever the message.
#[derive(Default)]
pub(crate) struct Loaded {
    pub(crate) headers: HeaderMap,
    pub(crate) secrets: Vec<Secret>,
    /// What no text may show, even if a receiver repeats it.
    pub(crate) hidden: Vec<String>,
}

/// Reads the files of a configuration.
pub(crate) struct Files {
    credentials: Credentials,
    headers_file: Option<PathBuf>,
    secret_file: Option<PathBuf>,
    secrets: Vec<Secret>,
    current: Mutex<Option<(Instant, Arc<Loaded>)>>,
}

impl Files {
    pub(crate) fn new(config: &HttpConfig) -> Self {
        Self {
            credentials: config.credentials.clone(),
            headers_file: config.headers_file.clone(),
            secret_file: config.secret_file.clone(),
            secrets: config.secrets.clone(),
            current: Mutex::new(None),
        }
    }

    /// What is in the files, as it was a short while ago.
    ///
    /// # Errors
    ///
    /// `Unavailable` names the file that cannot be used: an operator must put it right.
    pub(crate) async fn get(&self) -> Result<Arc<Loaded>, PublishError> {
        if let Some((read, loaded)) = &*self.current()
            && read.elapsed() < FRESH
        {
            return Ok(Arc::clone(loaded));
        }
        let loaded = Arc::new(self.read().await?);
        *self.current() = Some((Instant::now(), Arc::clone(&loaded)));
        Ok(loaded)
    }

    /// Has the files read at the next request.
    pub(crate) fn forget(&self) {
        *self.current() = None;
    }

    fn current(&self) -> std::sync::MutexGuard<'_, Option<(Instant, Arc<Loaded>)>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn read(&self) -> Result<Loaded, PublishError> {
        let mut loaded = Loaded {
            headers: HeaderMap::new(),
            secrets: self.secrets.clone(),
            hidden: Vec::new(),
        };
        if let Some(path) = &self.headers_file {
            let text = text("headers_file", path).await?;
            loaded.headers =
                further(&text).map_err(|problem| unusable("headers_file", path, &problem))?;
        }
        let values = loaded.headers.values();
        let values = values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        loaded.hidden = values.collect();
        if let Some(path) = &self.secret_file {
            let text = text("secret_file", path).await?;
            let secrets =
                secrets(&text).map_err(|problem| unusable("secret_file", path, &problem))?;
            loaded.secrets.extend(secrets);
        }
        let authorization = match &self.credentials {
            Credentials::None => None,
            Credentials::Basic { user, password } => {
                let encoded = BASE64_STANDARD.encode(format!("{user}:{password}"));
                loaded.hidden.extend([password.clone(), encoded.clone()]);
                Some(format!("Basic {encoded}"))
            }
            Credentials::TokenFile(path) => {
                let text = text("token_file", path).await?;
                let token =
                    token(&text).map_err(|problem| unusable("token_file", path, &problem))?;
                loaded.hidden.push(token.to_owned());
                Some(format!("Bearer {token}"))
            }
        };
        if let Some(authorization) = authorization {
            let value = HeaderValue::try_from(authorization);
            let mut value = value.expect("it was looked at, or is base64");
            value.set_sensitive(true);
            loaded.headers.insert(AUTHORIZATION, value);
        }
        Ok(loaded)
    }
}

async fn text(parameter: &str, path: &Path) -> Result<String, PublishError> {
    let read = tokio::fs::read_to_string(path).await;
    read.map_err(|error| match error.kind() {
        // The library's text could show what is in the file.
        io::ErrorKind::InvalidData => unusable(parameter, path, "it is no text"),
        _ => unusable(parameter, path, &error.to_string()),
    })
}

fn unusable(parameter: &str, path: &Path, problem: &str) -> PublishError {
    PublishError::new(
        PublishErrorKind::Unavailable,
        format!(
            "cannot use the file {} that {parameter} names: {problem}",
            path.display()
        ),
    )
}

/// The lines that say something, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().map(|line| line.trim_matches(headers::BLANKS));
    let lines = (1..).zip(lines);
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn secrets(text: &str) -> Result<Vec<Secret>, String> {
    let secret = |(number, line): (usize, &str)| {
        let secret = line.parse::<Secret>();
        secret.map_err(|problem| format!("line {number}: {problem}"))
    };
    let secrets: Vec<Secret> = lines(text).map(secret).collect::<Result<_, _>>()?;
    if secrets.is_empty() {
        // Nothing would be signed, and nobody would notice here.
        return Err("there is no secret in it".to_owned());
    }
    Ok(secrets)
}

fn token(text: &str) -> Result<&str, String> {
    let mut lines = lines(text);
    match (lines.next(), lines.next()) {
        (Some((_, token)), None) if token.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(token),
        _ => Err("there must be one line in it, of visible ASCII".to_owned()),
    }
}

fn further(text: &str) -> Result<HeaderMap, String> {
    let mut further = HeaderMap::new();
    for (number, line) in lines(text) {
        let pair = line.split_once(':').and_then(|(name, value)| {
            let name = HeaderName::from_bytes(name.trim_end().as_bytes()).ok()?;
            Some((name, headers::value(value.trim_matches(headers::BLANKS))?))
        });
        let Some((name, mut value)) = pair else {
            return Err(format!("line {number} is no name: value"));
        };
        if headers::is_of_the_connection(&headers::folded(name.as_str())) {
            return Err(format!("line {number}: the header {name} cannot be set"));
        }
        value.set_sensitive(true);
        further.append(name, value);
    }
    Ok(further)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    #[test]
    fn a_file_has_a_secret_on_each_line() {
        let text = format!("# the new one\n{SECRET}\n\n  {SECRET}\r\n");
        assert_eq!(secrets(&text).unwrap().len(), 2);
        assert!(secrets("# nothing\n").unwrap_err().contains("no secret"));
        let refused = secrets(&format!("{SECRET}\nhunter2")).unwrap_err();
        assert!(refused.starts_with("line 2") && !refused.contains("hunter2"));
    }

    #[test]
    fn a_token_is_one_line() {
        assert_eq!(token(" t0k-en\n"), Ok("t0k-en"));
        for text in ["", "a b", "a\nb", "é", "a\tb"] {
            assert!(token(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn further_headers_are_lines_and_none_of_them_breaks_the_connection() {
        let headers =
            further("X-Api-Key: a:b\nauthorization:  Token t\n# x: y\nx-api-key:c").unwrap();
        let values: Vec<_> = headers.get_all("x-api-key").iter().collect();
        assert_eq!(values, ["a:b", "c"]);
        assert_eq!(headers["authorization"], "Token t");
        // What a message may not choose, an operator may.
        assert!(further("x-http-method-override: PUT\nx_real_ip: 1.1.1.1").is_ok());
        let kept = further("n: a\u{a0}").unwrap();
        assert_eq!(kept["n"].as_bytes(), "a\u{a0}".as_bytes());
        assert!(!format!("{headers:?}").contains("Token"), "{headers:?}");
        for text in [
            "no colon",
            "a b: c",
            ": c",
            "Host: evil",
            "content-length: 1",
            "webhook-id: x",
            "ce-id: x",
            "Content_Length: 1",
            "x_forwarded_for: x",
        ] {
            assert!(further(text).unwrap_err().starts_with("line 1"), "{text}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_is_read_again_after_a_while_and_when_it_is_doubted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let config = HttpConfig {
            credentials: Credentials::TokenFile(path.clone()),
            ..HttpConfig::default()
        };
        let files = Files::new(&config);
        let read = async || {
            files
                .get()
                .await
                .map(|loaded| loaded.headers["authorization"].clone())
        };
        let missing = read().await.unwrap_err();
        assert_eq!(missing.kind, PublishErrorKind::Unavailable);
        assert!(missing.text.contains("token_file"), "{missing}");
        std::fs::write(&path, "one").unwrap();
        assert_eq!(read().await.unwrap(), "Bearer one");
        std::fs::write(&path, "two").unwrap();
        assert_eq!(read().await.unwrap(), "Bearer one");
        tokio::time::advance(FRESH).await;
        assert_eq!(read().await.unwrap(), "Bearer two");
        std::fs::write(&path, "three").unwrap();
        files.forget();
        assert_eq!(read().await.unwrap(), "Bearer three");
    }
}
