//! Secrets out of texts: whatever is shown to people passes through here.

/// Whose URLs have parameters that people need to see. Those of any other may be tokens, as those of a receiver of webhooks are.
const OURS: [&str; 12] = [
    "amqp",
    "amqps",
    "file",
    "kafka",
    "kafkas",
    "nats",
    "postgres",
    "postgresql",
    "redis",
    "rediss",
    "sqlite",
    "tls",
];

/// What may stand behind a URL in a sentence.
const BEHIND: &str = "'\"`,.:;)";

const PASSWORD: &str = "password=";

/// The text without the credentials of every URL in it: `scheme://user:password@host`, `?password=...`, `https://host?token=...`.
/// It rather hides too much: a token may stand where a user's name does, and a password may hold any character but white space.
pub(crate) fn redact(text: &str) -> String {
    text.split_inclusive(char::is_whitespace)
        .map(without_secrets)
        .collect()
}

fn without_secrets(word: &str) -> String {
    let url = word.trim_end_matches(|c: char| c.is_whitespace() || BEHIND.contains(c));
    let behind = &word[url.len()..];
    let shown = match url.split_once("://") {
        Some((scheme, rest)) if is_ours(url) => format!("{scheme}://{}", without_user(rest)),
        Some((scheme, rest)) => format!("{scheme}://{}", without_user_and_query(rest)),
        None => url.to_owned(),
    };
    without_passwords(&shown) + behind
}

/// Whether every URL of a word is one of ours.
fn is_ours(word: &str) -> bool {
    let mut before_and_rest = word.rsplit("://").skip(1);
    before_and_rest.all(|before| OURS.iter().any(|scheme| before.ends_with(scheme)))
}

fn without_user(rest: &str) -> String {
    match rest.rsplit_once('@') {
        Some((_, host)) => format!("***@{host}"),
        None => rest.to_owned(),
    }
}

fn without_user_and_query(rest: &str) -> String {
    let query = |text: &str| text.find(['?', '#']);
    match rest.rsplit_once('@') {
        // The query may have the at sign, and then what follows it is no host.
        Some((user, _)) if query(user).is_some() => "***".to_owned(),
        _ => {
            let shown = without_user(rest);
            match query(&shown) {
                Some(at) => format!("{}***", &shown[..=at]),
                None => shown,
            }
        }
    }
}

fn without_passwords(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(at) = rest.to_ascii_lowercase().find(PASSWORD) {
        let (before, value) = rest.split_at(at + PASSWORD.len());
        out.push_str(before);
        out.push_str("***");
        rest = &value[value.find('&').unwrap_or(value.len())..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_never_show() {
        for (text, shown) in [
            ("postgres://me:s3/cr?et@db/x", "postgres://***@db/x"),
            (
                "no 'amqp://u:p@ss@h' and redis://:pw@h:6379/0",
                "no 'amqp://***@h' and redis://***@h:6379/0",
            ),
            (
                "'postgres://db/x?password=pw&a=b' is",
                "'postgres://db/x?password=***&a=b' is",
            ),
            ("nats://token@h", "nats://***@h"),
            (
                "--store 'sqlite:a.db?password=pw&a=b'",
                "--store 'sqlite:a.db?password=***&a=b'",
            ),
            (
                "sqlite://orders.db: no such file",
                "sqlite://orders.db: no such file",
            ),
            (
                "unexpected argument 'https://u:hunter'2@h/a' found",
                "unexpected argument 'https://***@h/a' found",
            ),
            (
                "'amqp://u:\"hunter`2@h/v?exchange=e', but",
                "'amqp://***@h/v?exchange=e', but",
            ),
            (
                "'postgres://db/x?password=a'b&Password=c\"d' is",
                "'postgres://db/x?password=***&Password=***' is",
            ),
        ] {
            assert_eq!(redact(text), shown);
        }
    }

    #[test]
    fn queries_of_receivers_never_show() {
        for (text, shown) in [
            (
                "unexpected argument 'https://h/a?token=hunter2' found",
                "unexpected argument 'https://h/a?***' found",
            ),
            (
                "'orders=http://u:p@h/a?t='x'",
                "'orders=http://***@h/a?***'",
            ),
            (
                "https://h/a#token=hunter2: timed out",
                "https://h/a#***: timed out",
            ),
            ("HTTPS://h/a?token=hunter2", "HTTPS://h/a?***"),
            ("https://h/a?for=me@hunter2", "https://***"),
            ("amqp://u:p@h,https://u:p@h?a=b", "amqp://***@h?***"),
            ("wss://h?token=hunter2", "wss://h?***"),
            (
                "http://h/hooks/{topic} does not answer: why?",
                "http://h/hooks/{topic} does not answer: why?",
            ),
        ] {
            assert_eq!(redact(text), shown);
        }
    }
}
