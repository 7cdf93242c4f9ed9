//! `--to` and `--route`: where messages of which topic go.

use std::{str::FromStr, sync::Arc};

use clap::{Args, ValueEnum};
use outbox::{
    DeadLetters,
    message::Topic,
    publisher::{Publisher, Router, TopicPattern},
    store::Status,
};

use crate::{exit::Exit, failure::Failure, publisher::Destination};

/// Where to publish.
#[derive(Debug, Args)]
#[command(next_help_heading = "Destinations")]
pub(crate) struct RouteArgs {
    /// Where to publish: stdout:, file:PATH, or the URL of a broker
    ///
    /// amqp://, amqps:// (RabbitMQ), nats://, tls:// (NATS JetStream), redis://, rediss:// (Redis), kafka://, kafkas:// (Kafka), http://, https:// (webhooks and CloudEvents). What a destination can be told is part of its URL; see docs/rabbitmq.md, docs/nats.md, docs/redis.md, docs/kafka.md and docs/http.md.
    #[arg(
        long,
        value_name = "URL",
        env = "OUTBOX_TO",
        hide_env_values = true,
        required_unless_present = "routes",
        conflicts_with = "routes"
    )]
    pub(crate) to: Option<String>,
    /// Where to publish the topics of a pattern; may be given again, and the first that matches wins
    ///
    /// * stands for any characters, as in 'orders.*=amqp://app@localhost' or '*=file:rest.ndjson'.
    #[arg(long = "route", value_name = "PATTERN=URL")]
    pub(crate) routes: Vec<Route>,
    /// What to do about topics that no --route matches
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "refuse",
        requires = "routes"
    )]
    pub(crate) unmatched: Unmatched,
}

/// What to do about topics without a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Unmatched {
    /// Do not start while messages of such a topic are pending; what comes later is left pending
    Refuse,
    /// Leave their messages pending
    Leave,
}

/// One `--route`.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    pattern: TopicPattern,
    url: String,
}

impl FromStr for Route {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (pattern, url) = text
            .split_once('=')
            .ok_or("write it as PATTERN=URL, such as 'orders.*=amqp://localhost'")?;
        let pattern = pattern.parse().map_err(|error| format!("{error}"))?;
        Ok(Self {
            pattern,
            url: url.to_owned(),
        })
    }
}

/// A pattern of topics, and the publisher that they go to.
pub(crate) type OpenRoute = (TopicPattern, Arc<dyn Publisher>);

/// The publisher that was asked for.
#[derive(Debug)]
pub(crate) struct Routes {
    destinations: Vec<(TopicPattern, Destination)>,
    unmatched: Unmatched,
}

impl Routes {
    /// Reads the URLs; nothing is opened.
    pub(crate) fn parse(args: &RouteArgs) -> Result<Self, Failure> {
        let to = args.to.as_ref().map(|url| (TopicPattern::any(), url));
        let routes = args.routes.iter().map(|it| (it.pattern.clone(), &it.url));
        let destinations = to.into_iter().chain(routes).map(|(pattern, url)| {
            let destination = Destination::parse(url)?;
            Ok((pattern, destination))
        });
        Ok(Self {
            destinations: destinations.collect::<Result<_, Failure>>()?,
            unmatched: args.unmatched,
        })
    }

    /// Whether messages go to standard output, which results then leave to them.
    pub(crate) fn use_stdout(&self) -> bool {
        let mut destinations = self.destinations.iter();
        destinations.any(|(_, destination)| *destination == Destination::Stdout)
    }

    /// The topics that are named in full.
    pub(crate) fn topics(&self) -> impl Iterator<Item = Topic> {
        self.destinations
            .iter()
            .filter_map(|(pattern, _)| pattern.as_topic())
    }

    /// Makes the publishers, in the order of their patterns. The same URL is the same publisher, so that what it holds open is
    /// held once.
    pub(crate) fn open(&self) -> Result<Vec<OpenRoute>, Failure> {
        let mut opened: Vec<OpenRoute> = Vec::new();
        for (pattern, destination) in &self.destinations {
            let mut before = self.destinations.iter().zip(&opened);
            let known = before.find(|((_, known), _)| known == destination);
            let publisher = match known {
                Some((_, (_, publisher))) => Arc::clone(publisher),
                None => destination.open()?,
            };
            opened.push((pattern.clone(), publisher));
        }
        Ok(opened)
    }

    /// All of them as one publisher.
    pub(crate) fn router(&self) -> Result<Router, Failure> {
        let opened = self.open()?.into_iter();
        Ok(opened.fold(Router::new(), |router, (pattern, publisher)| {
            router.route(pattern, publisher)
        }))
    }

    /// Whether there may be topics without a route, which is worth a look.
    pub(crate) fn may_miss_topics(&self) -> bool {
        let any = TopicPattern::any();
        let covered = self.destinations.iter().any(|(pattern, _)| *pattern == any);
        self.unmatched == Unmatched::Refuse && !covered
    }

    /// Refuses to begin if messages are pending that have no way to go, unless that is as wanted, or if dead letters would have none.
    /// Dead letters that are pending wait for their route and are no reason to stop everything else.
    pub(crate) fn covers(
        &self,
        router: &Router,
        status: &Status,
        letters: Option<&DeadLetters>,
    ) -> Result<(), Failure> {
        if !self.may_miss_topics() {
            return Ok(());
        }
        let is_letter =
            |topic: &Topic| letters.is_some_and(|letters| letters.is_dead_letter_topic(topic));
        let pending = status.topics.iter().filter(|topic| topic.pending > 0);
        let topics: Vec<Topic> = pending
            .filter_map(|topic| Topic::new(&*topic.topic).ok())
            .filter(|topic| !is_letter(topic))
            .collect();
        unmatched(router, &topics, "what is pending of", PENDING)?;
        let topics: Vec<Topic> = letters
            .into_iter()
            .flat_map(|letters| {
                let named = self.topics().filter(|topic| !is_letter(topic));
                named.filter_map(|topic| letters.topic(&topic).ok())
            })
            .collect();
        unmatched(router, &topics, "the dead letters of", LETTERS)
    }
}

const PENDING: &str =
    "add --route 'TOPIC=URL' or '*=URL', or leave it pending with --unmatched leave";

const LETTERS: &str =
    "add --route 'TOPIC=URL' or '*=URL' for them, or leave out --dead-letter-topic";

/// Refuses if one of these topics has no route.
fn unmatched(router: &Router, topics: &[Topic], what: &str, hint: &str) -> Result<(), Failure> {
    let names: Vec<&str> = router
        .unmatched(topics)
        .iter()
        .map(|topic| topic.as_str())
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    let what = format!("no --route matches {what} {}", names.join(", "));
    Err(Failure::new(Exit::Input, what).hint(hint))
}

#[cfg(test)]
mod tests {
    use outbox::store::TopicBacklog;

    use super::*;

    fn routes(routes: &[&str], unmatched: Unmatched) -> Routes {
        let routes = routes.iter().map(|route| route.parse().unwrap());
        Routes::parse(&RouteArgs {
            to: None,
            routes: routes.collect(),
            unmatched,
        })
        .unwrap()
    }

    fn pending(topics: &[(&str, u64)]) -> Status {
        let topics = topics.iter().map(|(topic, pending)| TopicBacklog {
            topic: (*topic).to_owned(),
            pending: *pending,
            dead: 1,
        });
        Status {
            topics: topics.collect(),
            ..Status::default()
        }
    }

    #[test]
    fn what_is_pending_must_have_a_route_unless_it_may_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        let orders = format!("orders*=file:{}", a.display());
        let mail = format!("mail=file:{}", b.display());
        let make = |unmatched| routes(&[&orders, &mail], unmatched);
        let status = pending(&[("orders.created", 1), ("sms", 2), ("fax", 3), ("old", 0)]);
        let refuse = make(Unmatched::Refuse);
        let router = refuse.router().unwrap();
        let refused = refuse.covers(&router, &status, None).unwrap_err();
        assert!(
            refused.to_string().contains("pending of sms, fax\n"),
            "{refused}"
        );
        assert!(
            refuse
                .covers(&router, &pending(&[("mail", 1)]), None)
                .is_ok()
        );
        assert!(
            make(Unmatched::Leave)
                .covers(&router, &status, None)
                .is_ok()
        );
    }

    #[test]
    fn dead_letters_must_have_a_route_before_there_are_any_and_do_not_keep_others_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let file = |pattern: &str| format!("{pattern}=file:{}", folder.path().join("a").display());
        let letters: DeadLetters = "{topic}.dlq".parse().unwrap();
        let covers = |patterns: &[&str], pending: &Status| {
            let patterns: Vec<String> = patterns.iter().map(|pattern| file(pattern)).collect();
            let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
            let routes = routes(&patterns, Unmatched::Refuse);
            routes.covers(&routes.router().unwrap(), pending, Some(&letters))
        };
        let refused = covers(&["orders"], &Status::default()).unwrap_err();
        let words = "the dead letters of orders.dlq\n";
        assert!(refused.to_string().contains(words), "{refused}");
        assert!(covers(&["orders", "orders.dlq"], &Status::default()).is_ok());
        assert!(covers(&["orders", "*.dlq"], &Status::default()).is_ok());
        let pending = pending(&[("mail.dlq", 1)]);
        assert!(covers(&["orders", "orders.dlq"], &pending).is_ok());
    }

    #[test]
    fn a_route_has_a_pattern_and_a_url_which_an_error_does_not_show() {
        for bad in ["orders", "=amqp://u:secret@h", "amqp://u:secret@h"] {
            let error = bad.parse::<Route>().unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
        let refused = Routes::parse(&RouteArgs {
            to: None,
            routes: vec!["a=smtp://u:secret@h".parse().unwrap()],
            unmatched: Unmatched::Leave,
        });
        assert!(!refused.unwrap_err().to_string().contains("secret"));
    }
}
