//! Secrets out of texts: whatever is shown to people passes through here.

/// The text with the credentials of every URL in it replaced: `scheme://user:password@host`, `?password=...`.
/// It rather hides too much: a token may stand where a user's name does, and a password may hold any character.
pub(crate) fn redact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_inclusive(|c: char| c.is_whitespace() || "'\"`".contains(c)) {
        let word = match word.split_once("://") {
            Some((scheme, rest)) => format!("{scheme}://{}", without_user(rest)),
            None => word.to_owned(),
        };
        out.push_str(&without_password(word));
    }
    out
}

fn without_user(rest: &str) -> String {
    match rest.rsplit_once('@') {
        Some((_, host)) => format!("***@{host}"),
        None => rest.to_owned(),
    }
}

fn without_password(word: String) -> String {
    match word.find("password=") {
        Some(at) => {
            let (before, value) = word.split_at(at + "password=".len());
            let end = value
                .find(|c: char| c == '&' || c.is_whitespace() || "'\"`".contains(c))
                .unwrap_or(value.len());
            format!("{before}***{}", &value[end..])
        }
        None => word,
    }
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
        ] {
            assert_eq!(redact(text), shown);
        }
    }
}
