//! The parameters of a publisher's URL, `?name=value&name=value`: each is known, stands there once, and is taken by what it
//! is for. Leaves out what stands before the question mark.

use std::{fmt::Display, path::PathBuf, str::FromStr, time::Duration};

use percent_encoding::percent_decode_str;
use thiserror::Error;

/// The parameters that were not taken yet.
///
/// ```
/// use std::time::Duration;
///
/// use outbox_publisher::{Parameters, Template};
///
/// let query = "queue=jobs:{topic}&connect_timeout=3";
/// let mut parameters = Parameters::read(query, &["queue", "connect_timeout", "ca"])?;
/// let queue: Option<Template> = parameters.parse("queue")?;
/// assert_eq!(queue, Some("jobs:{topic}".parse()?));
/// assert_eq!(parameters.seconds("connect_timeout")?, Some(Duration::from_secs(3)));
/// assert_eq!(parameters.path("ca")?, None);
///
/// let refused = Parameters::read("quue=jobs", &["queue", "ca"]).unwrap_err();
/// assert_eq!(refused.to_string(), "unknown parameter quue; known are queue, ca");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Parameters(Vec<(&'static str, String)>);

/// Why the parameters of a URL, or the fields of a configuration that are called like them, make no publisher.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidParameter {
    /// There is no such parameter.
    #[error("unknown parameter {name}; known are {known}")]
    Unknown {
        /// Its name.
        name: String,
        /// The names of those that are known, with commas between.
        known: String,
    },
    /// There is no such parameter, and it may be the rest of a password, so it is not shown.
    #[error(
        "unknown parameter before an @; in a user name or a password write ? as %3F and @ as %40"
    )]
    Hidden,
    /// It stands there more than once.
    #[error("the parameter {name} stands there twice")]
    Repeated {
        /// Its name.
        name: &'static str,
    },
    /// It is nothing without something else, or beside something else.
    #[error("the parameter {name} needs {what}")]
    Misplaced {
        /// Its name.
        name: &'static str,
        /// What it needs.
        what: &'static str,
    },
    /// It cannot have this value.
    #[error("the parameter {name} is {value:?}: {problem}")]
    Value {
        /// Its name.
        name: &'static str,
        /// What stands there.
        value: String,
        /// What is wrong, or what to write instead.
        problem: String,
    },
}

impl InvalidParameter {
    /// The value does not do; `problem` says what to write instead.
    pub fn value(name: &'static str, value: impl Into<String>, problem: impl Display) -> Self {
        Self::Value {
            name,
            value: value.into(),
            problem: problem.to_string(),
        }
    }

    /// The parameter is nothing without `what`.
    pub fn needs(name: &'static str, what: &'static str) -> Self {
        Self::Misplaced { name, what }
    }
}

impl Parameters {
    /// Reads what stands behind the question mark. Values are percent-encoded; a plus is a plus.
    ///
    /// # Errors
    ///
    /// [`InvalidParameter`] names one that is not among `known`, stands there twice, or is not percent-encoded text.
    pub fn read(query: &str, known: &[&'static str]) -> Result<Self, InvalidParameter> {
        let mut found: Vec<(&'static str, String)> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let Some(name) = known.iter().copied().find(|known| *known == name) else {
                if query.contains('@') {
                    return Err(InvalidParameter::Hidden);
                }
                return Err(InvalidParameter::Unknown {
                    name: name.to_owned(),
                    known: known.join(", "),
                });
            };
            if found.iter().any(|(earlier, _)| *earlier == name) {
                return Err(InvalidParameter::Repeated { name });
            }
            let decoded = percent_decode(value).filter(|_| !value.contains('#'));
            let decoded = decoded.ok_or_else(|| {
                let problem = "write # as %23, % as %25, and what is escaped in UTF-8";
                InvalidParameter::value(name, value, problem)
            })?;
            found.push((name, decoded));
        }
        Ok(Self(found))
    }

    /// Takes a text as it is.
    pub fn take(&mut self, name: &str) -> Option<String> {
        self.pair(name).map(|(_, value)| value)
    }

    /// Takes what says itself why a text is not one, such as a [`Template`](crate::Template).
    ///
    /// # Errors
    ///
    /// [`InvalidParameter::Value`] with what it says.
    pub fn parse<T>(&mut self, name: &str) -> Result<Option<T>, InvalidParameter>
    where
        T: FromStr<Err: Display>,
    {
        self.read_as(name, |value| {
            value.parse().map_err(|why: T::Err| why.to_string())
        })
    }

    /// Takes a whole number of something, such as `bytes`.
    ///
    /// # Errors
    ///
    /// [`InvalidParameter::Value`] if it is none, or more than fits.
    pub fn number<T: FromStr>(
        &mut self,
        name: &str,
        of: &str,
    ) -> Result<Option<T>, InvalidParameter> {
        let problem = || format!("write a whole number of {of}");
        self.read_as(name, |value| value.parse().map_err(|_| problem()))
    }

    /// Takes a time in whole seconds.
    ///
    /// # Errors
    ///
    /// [`InvalidParameter::Value`] if it is no whole number.
    pub fn seconds(&mut self, name: &str) -> Result<Option<Duration>, InvalidParameter> {
        let seconds: Option<u32> = self.number(name, "seconds")?;
        Ok(seconds.map(|seconds| Duration::from_secs(seconds.into())))
    }

    /// Takes one of these words.
    ///
    /// # Errors
    ///
    /// [`InvalidParameter::Value`] names them if it is none of them.
    pub fn choice<T: Clone>(
        &mut self,
        name: &str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, InvalidParameter> {
        self.read_as(name, |value| {
            let chosen = words.iter().find(|(word, _)| *word == value);
            chosen.map(|(_, meaning)| meaning.clone()).ok_or_else(|| {
                let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                format!("write {}", words.join(" or "))
            })
        })
    }

    /// Takes `true` or `false`, which it is unless something else is said.
    ///
    /// # Errors
    ///
    /// [`InvalidParameter::Value`] if it is neither.
    pub fn flag(&mut self, name: &str) -> Result<bool, InvalidParameter> {
        let flag = self.choice(name, &[("true", true), ("false", false)])?;
        Ok(flag.unwrap_or(false))
    }

    /// Takes the path of a file.
    ///
    /// # Errors
    ///
    /// [`InvalidParameter::Value`] if it is empty. Whether there is such a file is not looked at.
    pub fn path(&mut self, name: &str) -> Result<Option<PathBuf>, InvalidParameter> {
        self.read_as(name, |value| match value {
            "" => Err("write the path of a file".to_owned()),
            path => Ok(path.into()),
        })
    }

    /// Refuses those of `names` that were not taken yet, since they are nothing without `what`.
    ///
    /// # Errors
    ///
    /// [`InvalidParameter::Misplaced`] names the first of them.
    pub fn refuse(&self, names: &[&str], what: &'static str) -> Result<(), InvalidParameter> {
        match self.0.iter().find(|(name, _)| names.contains(name)) {
            Some((name, _)) => Err(InvalidParameter::needs(name, what)),
            None => Ok(()),
        }
    }

    fn read_as<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, InvalidParameter> {
        let Some((name, value)) = self.pair(name) else {
            return Ok(None);
        };
        match read(&value) {
            Ok(read) => Ok(Some(read)),
            Err(problem) => Err(InvalidParameter::value(name, value, problem)),
        }
    }

    fn pair(&mut self, name: &str) -> Option<(&'static str, String)> {
        let at = self.0.iter().position(|(known, _)| *known == name)?;
        Some(self.0.remove(at))
    }
}

/// A part of a URL without its percent escapes; `None` if a percent sign begins none, or they are no UTF-8.
pub fn percent_decode(text: &str) -> Option<String> {
    if !text.split('%').skip(1).all(begins_with_two_digits) {
        return None;
    }
    let decoded = percent_decode_str(text).decode_utf8().ok()?;
    Some(decoded.into_owned())
}

fn begins_with_two_digits(text: &str) -> bool {
    let mut bytes = text.bytes();
    let mut digit = || bytes.next().is_some_and(|byte| byte.is_ascii_hexdigit());
    digit() && digit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Template;

    const KNOWN: [&str; 4] = ["queue", "size", "kind", "ca"];

    fn read(query: &str) -> Parameters {
        Parameters::read(query, &KNOWN).unwrap()
    }

    fn refused(query: &str) -> String {
        let refused = Parameters::read(query, &KNOWN).unwrap_err();
        refused.to_string()
    }

    #[test]
    fn a_percent_sign_begins_an_escape_or_the_text_is_refused() {
        assert_eq!(percent_decode("a%25%c3%A9").as_deref(), Some("a%é"));
        for text in ["%", "a%2", "%zz", "%%", "5%-", "%ff"] {
            assert_eq!(percent_decode(text), None, "{text}");
        }
    }

    #[test]
    fn a_parameter_is_taken_once_and_decoded() {
        let mut parameters = read("&queue=a+b%20%7Btopic%7D&size=&");
        assert_eq!(parameters.take("queue").as_deref(), Some("a+b {topic}"));
        assert_eq!(parameters.take("queue"), None);
        assert_eq!(parameters.take("size").as_deref(), Some(""));
        assert_eq!(read("kind").take("kind").as_deref(), Some(""));
    }

    #[test]
    fn one_that_is_unknown_or_repeated_is_named() {
        assert_eq!(
            refused("queue=a&sice=b"),
            "unknown parameter sice; known are queue, size, kind, ca"
        );
        assert_eq!(
            refused("queue=a&queue=a"),
            "the parameter queue stands there twice"
        );
        let parameters = read("size=1&kind=a");
        assert_eq!(parameters.refuse(&["queue", "ca"], "a kind"), Ok(()));
        let error = parameters.refuse(&["ca", "kind"], "tls://").unwrap_err();
        assert_eq!(error.to_string(), "the parameter kind needs tls://");
    }

    #[test]
    fn what_may_be_the_rest_of_a_password_is_not_shown() {
        for rest in ["hunter2@host", "a=hunter2@host", "hunter2&b@host/?queue=a"] {
            let text = refused(rest);
            assert!(!text.contains("hunter2"), "{text}");
            assert!(text.contains("%3F"), "{text}");
        }
        assert_eq!(read("queue=a@b").take("queue").as_deref(), Some("a@b"));
    }

    #[test]
    fn a_value_that_does_not_do_is_shown_with_what_to_write() {
        let shown = |result: Result<(), InvalidParameter>| result.unwrap_err().to_string();
        assert_eq!(
            shown(read("queue={a}").parse::<Template>("queue").map(drop)),
            "the parameter queue is \"{a}\": there is no {a}, only {topic}, {key} and {id}; a brace of the text itself is \
             written twice"
        );
        for text in ["5s", "-1", "", "4294967296"] {
            let seconds = read(&format!("size={text}")).seconds("size").map(drop);
            let expected =
                format!("the parameter size is {text:?}: write a whole number of seconds");
            assert_eq!(shown(seconds), expected);
        }
        let words = [("list", 1), ("stream", 2)];
        assert_eq!(read("kind=stream").choice("kind", &words), Ok(Some(2)));
        assert_eq!(
            shown(read("kind=set").choice("kind", &words).map(drop)),
            "the parameter kind is \"set\": write list or stream"
        );
        assert_eq!(read("kind=true").flag("kind"), Ok(true));
        assert_eq!(read("").flag("kind"), Ok(false));
        assert!(shown(read("kind=yes").flag("kind").map(drop)).contains("write true or false"));
        assert!(shown(read("ca=").path("ca").map(drop)).contains("write the path of a file"));
        assert!(refused("queue=%ff").contains("queue is \"%ff\": "));
        assert!(refused("queue=a#b").contains("%23"));
    }
}
