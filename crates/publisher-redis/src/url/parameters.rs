//! The parameters of a URL, each taken once by what it is for.

use std::{fmt::Display, num::NonZeroU64, path::PathBuf, str::FromStr};

use ::url::Url;

use super::decoded;
use crate::{Frame, Identity, InvalidUrl, Jobs, Layout, Template, Tls};

/// All parameters, in the order in which people read of them.
const KNOWN: [&str; 13] = [
    "layout",
    "queue",
    "frame",
    "prefix",
    "jobs",
    "stream",
    "max_len",
    "wait_replicas",
    "max_bytes",
    "connect_timeout",
    "ca",
    "cert",
    "key",
];

/// The parameters that nobody took yet.
pub(super) struct Parameters(Vec<(&'static str, String)>);

impl Parameters {
    pub(super) fn read(url: &Url) -> Result<Self, InvalidUrl> {
        let mut found: Vec<(&'static str, String)> = Vec::new();
        let pairs = url.query().unwrap_or_default().split('&');
        for pair in pairs.filter(|pair| !pair.is_empty()) {
            // A plus is a plus: this is no form.
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decoded(name)?, decoded(value)?);
            let Some(known) = KNOWN.iter().find(|known| **known == name) else {
                return Err(InvalidUrl::Unknown {
                    name,
                    known: KNOWN.join(", "),
                });
            };
            if found.iter().any(|(earlier, _)| earlier == known) {
                return Err(InvalidUrl::Repeated(name));
            }
            found.push((*known, value));
        }
        Ok(Self(found))
    }

    fn take(&mut self, name: &str) -> Option<(&'static str, String)> {
        let at = self.0.iter().position(|(known, _)| *known == name)?;
        Some(self.0.remove(at))
    }

    pub(super) fn parse<T: FromStr>(
        &mut self,
        name: &str,
        reason: &str,
    ) -> Result<Option<T>, InvalidUrl> {
        self.take(name)
            .map(|(name, value)| match value.parse() {
                Ok(value) => Ok(value),
                Err(_) => Err(not_understood(name, value, reason)),
            })
            .transpose()
    }

    fn template(&mut self, name: &str) -> Result<Template, InvalidUrl> {
        match self.take(name) {
            None => Ok(Template::topic()),
            Some((name, value)) => match value.parse() {
                Ok(template) => Ok(template),
                Err(error) => Err(not_understood(name, value, error)),
            },
        }
    }

    fn path(&mut self, name: &str) -> Result<Option<PathBuf>, InvalidUrl> {
        match self.take(name) {
            Some((name, value)) if value.is_empty() => {
                Err(not_understood(name, value, "write the path of a PEM file"))
            }
            path => Ok(path.map(|(_, path)| PathBuf::from(path))),
        }
    }

    fn refuse(&self, names: &[&str], purpose: &'static str) -> Result<(), InvalidUrl> {
        let misplaced = self.0.iter().find(|(name, _)| names.contains(name));
        match misplaced {
            Some((name, _)) => Err(InvalidUrl::Misplaced { name, purpose }),
            None => Ok(()),
        }
    }

    pub(super) fn tls(&mut self, has_tls: bool) -> Result<Option<Tls>, InvalidUrl> {
        if !has_tls {
            self.refuse(&["ca", "cert", "key"], "rediss://")?;
            return Ok(None);
        }
        let ca = self.path("ca")?;
        let identity = match (self.path("cert")?, self.path("key")?) {
            (Some(certificate), Some(key)) => Some(Identity { certificate, key }),
            (None, None) => None,
            (certificate, _) => {
                let (name, purpose) = match certificate {
                    Some(_) => ("cert", "a URL with key as well"),
                    None => ("key", "a URL with cert as well"),
                };
                return Err(InvalidUrl::Misplaced { name, purpose });
            }
        };
        Ok(Some(Tls { ca, identity }))
    }

    pub(super) fn layout(&mut self) -> Result<Layout, InvalidUrl> {
        let (name, layout) = self.take("layout").unwrap_or(("layout", "list".to_owned()));
        match &*layout {
            "list" => {
                self.refuse(&["stream", "max_len"], "layout=stream")?;
                self.refuse(&["prefix", "jobs"], "layout=laravel")?;
                Ok(Layout::List {
                    frame: self.frame()?,
                    queue: self.template("queue")?,
                })
            }
            "laravel" => {
                self.refuse(&["stream", "max_len"], "layout=stream")?;
                self.refuse(&["frame"], "layout=list")?;
                Ok(Layout::Laravel {
                    prefix: self
                        .take("prefix")
                        .map_or_else(String::new, |(_, prefix)| prefix),
                    jobs: self.jobs()?,
                    queue: self.template("queue")?,
                })
            }
            "stream" => {
                self.refuse(&["queue"], "layout=list and layout=laravel")?;
                self.refuse(&["prefix", "jobs"], "layout=laravel")?;
                self.refuse(&["frame"], "layout=list")?;
                let stream = self.template("stream")?;
                let reason = "write a number of entries, or 0 to keep all";
                let max_len = self.parse("max_len", reason)?;
                Ok(Layout::Stream {
                    stream,
                    max_len: NonZeroU64::new(max_len.unwrap_or(Layout::MAX_LEN)),
                })
            }
            _ => Err(not_understood(
                name,
                layout,
                "write list, laravel or stream",
            )),
        }
    }

    fn jobs(&mut self) -> Result<Jobs, InvalidUrl> {
        match self.take("jobs") {
            None => Ok(Jobs::default()),
            Some((name, value)) => match &*value {
                "checked" => Ok(Jobs::Checked),
                "unchecked" => Ok(Jobs::Unchecked),
                _ => Err(not_understood(name, value, "write checked or unchecked")),
            },
        }
    }

    fn frame(&mut self) -> Result<Frame, InvalidUrl> {
        match self.take("frame") {
            None => Ok(Frame::default()),
            Some((name, value)) => match &*value {
                "headers" => Ok(Frame::Headers),
                "always" => Ok(Frame::Always),
                "never" => Ok(Frame::Never),
                _ => Err(not_understood(
                    name,
                    value,
                    "write headers, always or never",
                )),
            },
        }
    }
}

fn not_understood(name: &'static str, value: String, reason: impl Display) -> InvalidUrl {
    InvalidUrl::Value {
        name,
        value,
        reason: reason.to_string(),
    }
}
