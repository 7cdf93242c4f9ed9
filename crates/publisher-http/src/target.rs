//! Where a message is sent: the URL with the topic and the key of the message in it. Pure.
//!
//! What a message brings becomes one piece of a path segment or of a query's value, and never more: everything but letters,
//! digits and `-._~` is percent-encoded, and a segment that would be a dot or two is refused.

use std::{borrow::Cow, fmt, net::IpAddr};

use outbox_message::{Message, PartitionKey, Topic};
use outbox_publisher::{PublishError, PublishErrorKind, Template, TemplateField};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::{Host, Url};

use crate::InvalidUrl;

/// What stays as it is in a URL, whatever it stands in (RFC 3986, 2.3).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// More than servers take: 8,000 octets is what RFC 9110 asks of them.
const LONGEST: usize = 8_000;

/// A URL in which placeholders stand for what a message brings.
#[derive(Clone)]
pub(crate) struct Target {
    /// The scheme, the host and the port, as people read them.
    origin: String,
    /// An address, if the host is one.
    address: Option<IpAddr>,
    path: Template,
    query: Option<Template>,
    /// The whole of it if there is no placeholder.
    fixed: Option<Url>,
    /// What people see in the place of the path.
    name: Option<String>,
}

impl Target {
    /// Reads a URL without credentials and without a fragment.
    pub(crate) fn read(url: &str, name: Option<&str>) -> Result<Self, InvalidUrl> {
        let (scheme, rest) = url.split_once("://").ok_or(InvalidUrl::Scheme)?;
        if !matches!(scheme, "http" | "https") {
            return Err(InvalidUrl::Scheme);
        }
        let end = rest.find(['/', '?', '\\']).unwrap_or(rest.len());
        let (authority, behind) = rest.split_at(end);
        let (path, query) = match behind.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (behind, None),
        };
        let host = host(scheme, authority).ok_or(InvalidUrl::Host)?;
        let mut target = Self {
            origin: format!("{scheme}://{}:{}", host.0, host.1),
            address: host.2,
            path: template(if path.is_empty() { "/" } else { path })?,
            query: query.map(template).transpose()?,
            fixed: None,
            name: name.map(str::to_owned),
        };
        let fields = [TemplateField::Topic, TemplateField::Key, TemplateField::Id];
        if !fields.into_iter().any(|field| target.uses(field)) {
            let what = "more than 8,000 bytes";
            let url = target.fill(|_| "").ok_or(InvalidUrl::Path { what })?;
            target.fixed = Some(url);
        }
        Ok(target)
    }

    /// The URL for a message.
    ///
    /// # Errors
    ///
    /// `Malformed` if what the message brings makes no path.
    pub(crate) fn url(&self, message: &Message) -> Result<Url, PublishError> {
        if let Some(url) = &self.fixed {
            return Ok(url.clone());
        }
        let url = self.fill(|field| {
            encode(match field {
                TemplateField::Topic => message.topic.as_str(),
                TemplateField::Key => message.key.as_ref().map_or("", PartitionKey::as_str),
                TemplateField::Id => message.id.as_str(),
            })
        });
        url.ok_or_else(|| {
            let text = "the topic, the key or the id of the message makes no URL: a part of the path is . or .., or it is longer than \
                        8,000 bytes";
            PublishError::new(PublishErrorKind::Malformed, text)
        })
    }

    /// The URL for what messages of a topic have in common: nothing stands in the place of the rest.
    pub(crate) fn url_of_topic(&self, topic: &Topic) -> Option<Url> {
        let fill = || {
            self.fill(|field| match field {
                TemplateField::Topic => encode(topic.as_str()),
                _ => String::new(),
            })
        };
        self.fixed.clone().or_else(fill)
    }

    /// The URL of the server, whatever the topic: the whole of it if it is the same for all messages.
    pub(crate) fn url_of_server(&self) -> (Url, bool) {
        let root = || Url::parse(&self.origin).expect("the origin was parsed before");
        match &self.fixed {
            Some(url) => (url.clone(), true),
            None => (root(), false),
        }
    }

    /// Where messages of a topic go, as people read it: without the query, which may hold a secret.
    pub(crate) fn shown(&self, topic: &Topic) -> String {
        let place = match &self.name {
            Some(name) => format!(" {name}"),
            None => self.path.of_topic(topic),
        };
        let path_shows_topic = self.name.is_none() && self.path.uses(TemplateField::Topic);
        if self.uses(TemplateField::Topic) && !path_shows_topic {
            format!("{}{place} {topic}", self.origin)
        } else {
            format!("{}{place}", self.origin)
        }
    }

    /// The same for all topics.
    pub(crate) fn shown_in_general(&self) -> Cow<'_, str> {
        match &self.name {
            Some(name) => format!("{} {name}", self.origin).into(),
            None => format!("{}{}", self.origin, self.path).into(),
        }
    }

    /// Whether messages go to different places by this.
    pub(crate) fn uses(&self, field: TemplateField) -> bool {
        self.path.uses(field) || self.query.as_ref().is_some_and(|query| query.uses(field))
    }

    /// Whether a message makes more of the URL than its topic does, so that it may be to blame for where it leads.
    pub(crate) fn depends_on_message(&self) -> bool {
        self.uses(TemplateField::Key) || self.uses(TemplateField::Id)
    }

    /// Whether people see a name in the place of the path.
    pub(crate) fn hides_path(&self) -> bool {
        self.name.is_some()
    }

    /// Whether all messages of a topic go to one path, so that it is there or not without a message.
    pub(crate) fn topics_have_paths(&self) -> bool {
        !self.path.uses(TemplateField::Key) && !self.path.uses(TemplateField::Id)
    }

    /// The host, if it is an address.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// `None` if it is no URL that leads to where it seems to.
    fn fill<T: AsRef<str>>(&self, value: impl Fn(TemplateField) -> T) -> Option<Url> {
        let mut text = self.path.fill(&value);
        if text.split('/').any(is_dots) {
            return None;
        }
        if let Some(query) = &self.query {
            text.push('?');
            text.push_str(&query.fill(value));
        }
        if text.len() > LONGEST {
            return None;
        }
        text.insert_str(0, &self.origin);
        Url::parse(&text).ok()
    }
}

/// Without the query, which may hold a secret.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Target")
            .field(&self.shown_in_general())
            .finish()
    }
}

/// What a message brings, as one piece of a URL.
pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

fn template(text: &str) -> Result<Template, InvalidUrl> {
    let path = text.split('?').next().unwrap_or_default();
    let what = if text.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
        Some("white space or a backslash; write them percent-encoded")
    } else if path.split('/').any(is_dots) {
        Some("a part that is . or ..")
    } else {
        None
    };
    match what {
        Some(what) => Err(InvalidUrl::Path { what }),
        None => text.parse().map_err(InvalidUrl::Template),
    }
}

/// Whether a segment leads to itself or upwards, as it is or escaped.
fn is_dots(segment: &str) -> bool {
    let segment = segment.to_ascii_lowercase().replace("%2e", ".");
    matches!(&*segment, "." | "..")
}

/// The host as it is connected to, its port, and the address that it is if it is one.
fn host(scheme: &str, authority: &str) -> Option<(String, u16, Option<IpAddr>)> {
    if authority.is_empty() || authority.contains(['@', '{', '}', '%']) {
        return None;
    }
    // Numbers in any of the old ways to write an address become one here, and names beyond ASCII their own.
    let url = Url::parse(&format!("{scheme}://{authority}/")).ok()?;
    let address = match url.host()? {
        Host::Domain(_) => None,
        Host::Ipv4(address) => Some(IpAddr::V4(address)),
        Host::Ipv6(address) => Some(IpAddr::V6(address)),
    };
    let port = url.port_or_known_default().filter(|port| *port != 0)?;
    Some((url.host_str()?.to_owned(), port, address))
}

#[cfg(test)]
mod tests;
