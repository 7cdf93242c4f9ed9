//! What a receiver answered, read as far as it matters: the status, when to try again, and no more of the body than it takes to use the
//! connection again.

use std::{
    cmp::Reverse,
    time::{Duration, SystemTime},
};

use reqwest::{
    Response,
    header::{DATE, HeaderMap, HeaderName, RETRY_AFTER},
};
use tokio::time::timeout;

use crate::retry_after;

/// As much of a body is read; the connection of a longer one is closed.
const BODY: usize = 16 * 1024;

/// As long is waited for it. What was decided by the status stands.
pub(crate) const PATIENCE: Duration = Duration::from_millis(500);

/// As much of it is kept, in which secrets are looked for.
const BEGINNING: usize = 4 * 1024;

/// As many characters of that are shown, if any.
const EXCERPT: usize = 200;

/// When the receiver says to try again.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let answered = retry_after::moment(text(DATE), now);
    retry_after::read(text(RETRY_AFTER)?, answered)
}

/// Reads the body, so that the connection can be used again, and gives its beginning. Dropping this drops the connection.
pub(crate) async fn body(mut response: Response) -> Vec<u8> {
    let (mut beginning, mut length) = (Vec::new(), 0);
    let reading = timeout(PATIENCE, async {
        while let Ok(Some(chunk)) = response.chunk().await {
            let room = BEGINNING.saturating_sub(beginning.len());
            beginning.extend(chunk.iter().take(room));
            length += chunk.len();
            if length > BODY {
                break;
            }
        }
    });
    // Whether it ended or not, there is no more to it.
    let _ = reading.await;
    beginning
}

/// The beginning of a body as people can read it, without what nobody may read.
pub(crate) fn excerpt(beginning: &[u8], mut secrets: Vec<String>) -> String {
    let mut text = String::from_utf8_lossy(beginning).into_owned();
    secrets.retain(|secret| !secret.is_empty());
    // The longest come first: a short one would leave the rest of a long one that it is a part of.
    secrets.sort_by_key(|secret| Reverse(secret.len()));
    for secret in secrets {
        text = text.replace(&secret, "***");
    }
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().take(EXCERPT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_one_short_line_without_secrets() {
        let body = b" {\n\t\"error\":  \"no total\",\0 \"token\": \"hunter2\" }\n\xFF";
        let shown = excerpt(body, vec!["hunter2".to_owned()]);
        assert_eq!(
            shown,
            "{ \"error\": \"no total\", \"token\": \"***\" } \u{fffd}"
        );
        let long = excerpt("é".repeat(400).as_bytes(), Vec::new());
        assert_eq!(long.chars().count(), EXCERPT);
    }

    #[test]
    fn a_secret_is_hidden_whole_if_another_is_a_part_of_it() {
        let secrets = ["", "7", "hunter7x"].map(str::to_owned);
        assert_eq!(excerpt(b"hunter7x 7 y", secrets.to_vec()), "*** *** y");
    }
}
