//! Reading a URL into a configuration: what stands before the `#` is the receiver's, what stands behind it is ours. Leaves out
//! what goes together, which the configuration checks.

use outbox_publisher::{InvalidParameter, Parameters, Template, percent_decode};

use crate::{CloudEvents, Credentials, HttpConfig, InvalidUrl, Mode};

/// All parameters, in the order in which people read of them.
const KNOWN: [&str; 15] = [
    "mode",
    "source",
    "type",
    "subject",
    "secret_file",
    "token_file",
    "headers_file",
    "ca",
    "allow_private",
    "proxy",
    "permanent",
    "name",
    "excerpt",
    "connect_timeout",
    "timeout",
];

/// What the parameters of CloudEvents are nothing without.
const EVENTS: &str = "mode=cloudevents-binary or mode=cloudevents-structured";

/// Reads `http[s]://[user:password@]host[:port][/path][?query][#name=value&…]`.
pub(crate) fn read(url: &str) -> Result<HttpConfig, InvalidUrl> {
    let (place, options) = url.split_once('#').unwrap_or((url, ""));
    let (url, credentials) = without_user(place)?;
    let mut parameters = Parameters::read(options, &KNOWN)?;
    let defaults = HttpConfig::default();
    let config = HttpConfig {
        url,
        mode: mode(&mut parameters)?,
        credentials: match (credentials, parameters.path("token_file")?) {
            (Credentials::None, Some(path)) => Credentials::TokenFile(path),
            (credentials, None) => credentials,
            (_, Some(_)) => {
                let what = "a URL without a user";
                return Err(InvalidParameter::needs("token_file", what).into());
            }
        },
        headers_file: parameters.path("headers_file")?,
        secrets: Vec::new(),
        secret_file: parameters.path("secret_file")?,
        ca: parameters.path("ca")?,
        proxy: parameters.take("proxy"),
        allow_private: parameters.flag("allow_private")?,
        permanent: statuses(&mut parameters)?,
        name: parameters.take("name"),
        excerpt: parameters.flag("excerpt")?,
        connect_timeout: parameters
            .seconds("connect_timeout")?
            .unwrap_or(defaults.connect_timeout),
        timeout: parameters.seconds("timeout")?.unwrap_or(defaults.timeout),
    };
    Ok(config)
}

#[derive(Clone)]
enum Kind {
    Webhook,
    Binary,
    Structured,
}

fn mode(parameters: &mut Parameters) -> Result<Mode, InvalidParameter> {
    let words = [
        ("webhook", Kind::Webhook),
        ("cloudevents-binary", Kind::Binary),
        ("cloudevents-structured", Kind::Structured),
    ];
    let kind = parameters.choice("mode", &words)?;
    let kind = kind.unwrap_or(Kind::Webhook);
    if let Kind::Webhook = kind {
        parameters.refuse(&["source", "type", "subject"], EVENTS)?;
        return Ok(Mode::Webhook);
    }
    let source: Option<Template> = parameters.parse("source")?;
    let what = "source=URI as well, which says where the events come from";
    let events = CloudEvents {
        source: source.ok_or_else(|| InvalidParameter::needs("mode", what))?,
        kind: parameters.parse("type")?,
        subject: parameters.parse("subject")?,
    };
    Ok(match kind {
        Kind::Structured => Mode::CloudEventsStructured(events),
        _ => Mode::CloudEventsBinary(events),
    })
}

fn statuses(parameters: &mut Parameters) -> Result<Vec<u16>, InvalidParameter> {
    let Some(text) = parameters.take("permanent") else {
        return Ok(Vec::new());
    };
    let statuses: Result<_, _> = text.split(',').map(str::parse).collect();
    statuses.map_err(|_| {
        let problem = "write statuses from 400 to 499, with commas between";
        InvalidParameter::value("permanent", text, problem)
    })
}

/// The URL without the user, and the user.
fn without_user(url: &str) -> Result<(String, Credentials), InvalidUrl> {
    let (scheme, rest) = url.split_once("://").ok_or(InvalidUrl::Scheme)?;
    let end = rest.find(['/', '?', '\\']).unwrap_or(rest.len());
    let (authority, behind) = rest.split_at(end);
    let Some((user, host)) = authority.rsplit_once('@') else {
        // The rest of a password that was not escaped would be sent as a part of the path.
        return match behind.split(['?']).next() {
            Some(path) if path.contains('@') && authority.contains(':') => Err(InvalidUrl::Host),
            _ => Ok((url.to_owned(), Credentials::None)),
        };
    };
    let decode = |part| percent_decode(part).ok_or(InvalidUrl::Credentials);
    let (user, password) = user.split_once(':').unwrap_or((user, ""));
    if user.contains('@') || password.contains([':', '@']) {
        return Err(InvalidUrl::Credentials);
    }
    let credentials = Credentials::Basic {
        user: decode(user)?,
        password: decode(password)?,
    };
    Ok((format!("{scheme}://{host}{behind}"), credentials))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn refused(url: &str) -> String {
        HttpConfig::from_url(url).unwrap_err().to_string()
    }

    #[test]
    fn every_part_of_a_url_is_read() {
        let url = "https://sh%40p:p%3Ass%2F@h:8443/in/{topic}?k={key}&mode=theirs#mode=cloudevents-structured&source=/shop/{topic}\
                   &type=com.example.{topic}&subject={key}&secret_file=/s&headers_file=/h&ca=/etc/ca%20file.pem\
                   &allow_private=true&proxy=http://proxy:3128&permanent=400,422&name=shop&excerpt=true&connect_timeout=2&timeout=6";
        let expected = HttpConfig {
            url: "https://h:8443/in/{topic}?k={key}&mode=theirs".into(),
            mode: Mode::CloudEventsStructured(CloudEvents {
                source: "/shop/{topic}".parse().unwrap(),
                kind: Some("com.example.{topic}".parse().unwrap()),
                subject: Some("{key}".parse().unwrap()),
            }),
            credentials: Credentials::Basic {
                user: "sh@p".into(),
                password: "p:ss/".into(),
            },
            headers_file: Some("/h".into()),
            secrets: Vec::new(),
            secret_file: Some("/s".into()),
            ca: Some("/etc/ca file.pem".into()),
            proxy: Some("http://proxy:3128".into()),
            allow_private: true,
            permanent: vec![400, 422],
            name: Some("shop".into()),
            excerpt: true,
            connect_timeout: Duration::from_secs(2),
            timeout: Duration::from_secs(6),
        };
        assert_eq!(HttpConfig::from_url(url), Ok(expected));
        let bare = HttpConfig {
            url: "http://h".into(),
            ..HttpConfig::default()
        };
        assert_eq!(HttpConfig::from_url("http://h"), Ok(bare));
    }

    #[test]
    fn parameters_before_the_hash_are_the_receivers() {
        let config = HttpConfig::from_url("https://h?allow_private=true&colour=1").unwrap();
        assert_eq!(config.url, "https://h?allow_private=true&colour=1");
        assert!(!config.allow_private);
    }

    #[test]
    fn there_is_one_way_to_say_who_one_is() {
        let credentials = |url| HttpConfig::from_url(url).unwrap().credentials;
        assert_eq!(
            credentials("https://h#token_file=/t"),
            Credentials::TokenFile("/t".into())
        );
        let user = |user: &str, password: &str| Credentials::Basic {
            user: user.into(),
            password: password.into(),
        };
        assert_eq!(credentials("https://u@h"), user("u", ""));
        assert_eq!(credentials("https://:p@h"), user("", "p"));
        assert!(
            refused("https://u@h#token_file=/t").contains("token_file needs a URL without a user")
        );
        for url in [
            "https://u:p:q@h",
            "https://u@v:p@h",
            "https://%ff@h",
            "https://a%3Ab:p@h",
        ] {
            assert!(refused(url).contains("credentials"), "{url}");
        }
    }

    #[test]
    fn what_does_not_do_is_named_and_no_password_is_shown() {
        for (url, expected) in [
            (
                "https://h#colour=1",
                "unknown parameter colour; known are mode, source",
            ),
            ("https://h#mode=a&mode=b", "mode stands there twice"),
            (
                "https://h#mode=soap",
                "write webhook or cloudevents-binary or cloudevents-structured",
            ),
            ("https://h#mode=cloudevents-binary", "mode needs source=URI"),
            (
                "https://h#source=/shop",
                "source needs mode=cloudevents-binary",
            ),
            ("https://h#permanent=400;422", "permanent is \"400;422\""),
            ("https://h#permanent=200", "permanent is \"200\""),
            ("https://h#allow_private=yes", "write true or false"),
            ("https://127.0.0.1:8080/", "allow_private=true"),
            ("nats://h", "begins with http:// or https://"),
            ("https://u:hunter2/x@h/", "%2F"),
            ("https://u:hunter2?x@h/", "host"),
            ("https://u:hunter2#x@h/", ""),
        ] {
            let said = refused(url);
            assert!(said.contains(expected), "{said}");
            assert!(!said.contains("hunter2"), "{said}");
        }
    }
}
