//! What a publisher is made with, and which of it goes together.

use std::{fmt, path::PathBuf, time::Duration};

use outbox_publisher::InvalidParameter;

use crate::{Credentials, InvalidUrl, Mode, Secret, address, options, target::Target};

/// What an [`HttpPublisher`](crate::HttpPublisher) is made with. Every field but `secrets` is a part of the URL, or a parameter behind its
/// `#`, as well.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpConfig {
    /// The receiver's URL with its path and its query, without credentials and without a `#`. `{topic}`, `{key}` and `{id}` in the path or in the
    /// query stand for those of the message; a brace of the URL itself is written twice.
    pub url: String,
    /// How a message becomes a request: `mode`. By default a webhook.
    pub mode: Mode,
    /// Who the publisher is: the user in the URL, or `token_file`.
    pub credentials: Credentials,
    /// A file with further headers of every request, one `name: value` on each line: `headers_file`. It is read again while the
    /// publisher runs.
    pub headers_file: Option<PathBuf>,
    /// Secrets that each message is signed with.
    pub secrets: Vec<Secret>,
    /// A file with more of them, one on each line: `secret_file`. It is read again while the publisher runs.
    pub secret_file: Option<PathBuf>,
    /// A file in PEM with the authorities that may sign the receiver's certificate, instead of those that the system trusts: `ca`.
    pub ca: Option<PathBuf>,
    /// A proxy that requests go through, such as `http://proxy:3128`: `proxy`. By default none, whatever the environment says.
    pub proxy: Option<String>,
    /// Whether addresses that are not public may be connected to: `allow_private`.
    pub allow_private: bool,
    /// Statuses with which a message is dead at once, such as 400 and 422: `permanent`, with commas between.
    pub permanent: Vec<u16>,
    /// What people see in the place of the path, for a path that is a secret itself: `name`.
    pub name: Option<String>,
    /// Whether errors show the beginning of what a receiver answered: `excerpt`. It may repeat what it was sent.
    pub excerpt: bool,
    /// How long one attempt to connect may take: `connect_timeout`, in seconds. By default 5 s.
    pub connect_timeout: Duration,
    /// How long one request may take, connecting included: `timeout`, in seconds. By default 8 s; it should be below the relay's
    /// publish timeout.
    pub timeout: Duration,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            url: String::new(),
            mode: Mode::Webhook,
            credentials: Credentials::None,
            headers_file: None,
            secrets: Vec::new(),
            secret_file: None,
            ca: None,
            proxy: None,
            allow_private: false,
            permanent: Vec::new(),
            name: None,
            excerpt: false,
            connect_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(8),
        }
    }
}

impl HttpConfig {
    /// Reads a URL such as `https://user:password@host/hooks/{topic}?tenant=7#secret_file=/run/secrets/hook`: that of the receiver, and
    /// behind the `#`, which is never sent, what the publisher is told.
    ///
    /// # Errors
    ///
    /// [`InvalidUrl`] names the part or the parameter that is wrong, and never shows credentials.
    pub fn from_url(url: &str) -> Result<Self, InvalidUrl> {
        let config = options::read(url)?;
        config.check()?;
        Ok(config)
    }

    /// Whether the parts go together.
    pub(crate) fn check(&self) -> Result<Target, InvalidUrl> {
        if self.url.contains('#') {
            let what = "a #; write it as %23";
            return Err(InvalidUrl::Path { what });
        }
        let target = Target::read(&self.url, self.name.as_deref())?;
        if let Some(address) = target.address()
            && let Some(what) = address::not_public(address)
            && !self.allow_private
        {
            return Err(InvalidUrl::NotPublic { address, what });
        }
        if let Credentials::Basic { user, .. } = &self.credentials
            && user.contains(':')
        {
            return Err(InvalidUrl::Credentials);
        }
        self.check_fields()?;
        Ok(target)
    }

    fn check_fields(&self) -> Result<(), InvalidParameter> {
        self.mode.check()?;
        if self.ca.is_some() && !self.url.starts_with("https:") {
            return Err(InvalidParameter::needs("ca", "https://"));
        }
        if let Some(proxy) = &self.proxy
            && proxy_host(proxy).is_none()
        {
            let problem = "write http://host:port, without a user";
            return Err(InvalidParameter::value(
                "proxy",
                shown_proxy(proxy),
                problem,
            ));
        }
        if let Some(status) = self.permanent.iter().find(|it| !(400..=499).contains(*it)) {
            let problem = "write statuses from 400 to 499, with commas between";
            return Err(InvalidParameter::value(
                "permanent",
                status.to_string(),
                problem,
            ));
        }
        if let Some(name) = &self.name
            && (name.is_empty() || name.chars().any(char::is_control))
        {
            let problem = "write a name that people read";
            return Err(InvalidParameter::value("name", name, problem));
        }
        for (name, time) in [
            ("connect_timeout", self.connect_timeout),
            ("timeout", self.timeout),
        ] {
            if time.is_zero() {
                let problem = "write at least 1 second";
                return Err(InvalidParameter::value(name, "0", problem));
            }
        }
        Ok(())
    }
}

/// The host of a proxy's URL, if it is one without credentials.
pub(crate) fn proxy_host(proxy: &str) -> Option<String> {
    let url = url::Url::parse(proxy).ok()?;
    let is_bare = url.username().is_empty() && url.password().is_none();
    let is_http = matches!(url.scheme(), "http" | "https");
    let host = url.host_str().filter(|_| is_bare && is_http)?;
    Some(host.to_owned())
}

/// Without what may be a password.
fn shown_proxy(proxy: &str) -> &str {
    proxy.rsplit_once('@').map_or(proxy, |(_, host)| host)
}

/// Without the query, and without the path if there is a name for it: both may hold a secret.
impl fmt::Debug for HttpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = Target::read(&self.url, self.name.as_deref());
        let url = target.map(|target| target.shown_in_general().into_owned());
        f.debug_struct("HttpConfig")
            .field("url", &url.unwrap_or_default())
            .field("mode", &self.mode)
            .field("credentials", &self.credentials)
            .field("headers_file", &self.headers_file)
            .field("secrets", &self.secrets)
            .field("secret_file", &self.secret_file)
            .field("ca", &self.ca)
            .field("proxy", &self.proxy.as_deref().map(shown_proxy))
            .field("allow_private", &self.allow_private)
            .field("permanent", &self.permanent)
            .field("excerpt", &self.excerpt)
            .field("connect_timeout", &self.connect_timeout)
            .field("timeout", &self.timeout)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(change: impl FnOnce(&mut HttpConfig)) -> String {
        let mut config = HttpConfig {
            url: "https://h/a".to_owned(),
            ..HttpConfig::default()
        };
        assert!(config.check().is_ok());
        change(&mut config);
        config.check().unwrap_err().to_string()
    }

    #[test]
    fn what_does_not_go_together_is_refused_and_named() {
        for (said, expected) in [
            (problem(|c| c.url.clear()), "http://"),
            (problem(|c| c.url = "https://h/a#b".into()), "%23"),
            (problem(|c| c.url = "https://u:p@h/".into()), "%40"),
            (
                problem(|c| c.url = "http://[::1]/".into()),
                "::1 of the URL is loopback",
            ),
            (
                problem(|c| c.url = "http://0x7f.1/".into()),
                "127.0.0.1 of the URL is loopback",
            ),
            (
                problem(|c| {
                    c.url = "http://h".into();
                    c.ca = Some("/ca.pem".into());
                }),
                "ca needs https://",
            ),
            (
                problem(|c| c.proxy = Some("h:3128".into())),
                "http://host:port",
            ),
            (
                problem(|c| c.proxy = Some("http://u:p@h".into())),
                "without a user",
            ),
            (
                problem(|c| c.permanent = vec![422, 500]),
                "permanent is \"500\"",
            ),
            (problem(|c| c.name = Some("a\n".into())), "name"),
            (problem(|c| c.timeout = Duration::ZERO), "timeout is \"0\""),
            (
                problem(|c| c.connect_timeout = Duration::ZERO),
                "connect_timeout is \"0\"",
            ),
            (
                problem(|c| {
                    c.credentials = Credentials::Basic {
                        user: "a:b".into(),
                        password: "c".into(),
                    };
                }),
                "colon",
            ),
        ] {
            assert!(said.contains(expected), "{said:?} {expected:?}");
        }
    }

    #[test]
    fn no_secret_is_shown() {
        let url = "https://u:hunter2@h/a?token=hunter2#name=x";
        let mut config = HttpConfig::from_url(url).unwrap();
        config.proxy = Some("http://u:hunter2@proxy".to_owned());
        config.secrets = vec!["aHVudGVyMmh1bnRlcjJodW50ZXIyaHVudGVyMg==".parse().unwrap()];
        let shown = format!("{config:?} {config:#?} {:?}", config.check());
        assert!(
            !shown.contains("hunter2") && !shown.contains("aHVud"),
            "{shown}"
        );
        assert!(shown.contains("https://h:443 x"), "{shown}");
    }
}
