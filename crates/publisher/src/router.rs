//! One publisher made of several: each topic goes by the first route whose pattern it matches.

use std::{borrow::Cow, sync::Arc, time::Duration};

use async_trait::async_trait;
use outbox_message::Topic;

use crate::{PublishError, PublishErrorKind, Published, Publisher, Run, TopicPattern};

/// Sends each topic to the publisher of the first route that matches it.
///
/// A topic that no route matches is a destination that is missing: its messages stay pending, no attempt is spent, and the
/// status names it (F3). [`Router::unmatched`] tells such topics beforehand.
///
/// ```
/// use std::sync::Arc;
/// # use outbox_publisher::{InvalidPattern, Publisher};
/// use outbox_publisher::Router;
///
/// # fn example(rabbitmq: Arc<dyn Publisher>, redis: Arc<dyn Publisher>) -> Result<(), InvalidPattern> {
/// let router = Router::new()
///     .route("orders.*".parse()?, rabbitmq)
///     .route("*".parse()?, redis);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Router {
    routes: Vec<Route>,
}

#[derive(Debug)]
struct Route {
    pattern: TopicPattern,
    publisher: Arc<dyn Publisher>,
}

impl Router {
    /// A router without routes.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same router with one route more, which takes what those before it do not match.
    #[must_use]
    pub fn route(mut self, pattern: TopicPattern, publisher: Arc<dyn Publisher>) -> Self {
        self.routes.push(Route { pattern, publisher });
        self
    }

    /// Those of the topics that no route matches.
    pub fn unmatched<'t>(&self, topics: impl IntoIterator<Item = &'t Topic>) -> Vec<&'t Topic> {
        let topics = topics.into_iter();
        topics.filter(|topic| self.of(topic).is_none()).collect()
    }

    fn of(&self, topic: &Topic) -> Option<&dyn Publisher> {
        let mut routes = self.routes.iter();
        let route = routes.find(|route| route.pattern.matches(topic))?;
        Some(&*route.publisher)
    }
}

fn no_route(topic: &Topic) -> String {
    format!("no route for topic {topic}")
}

fn missing(topic: &Topic) -> PublishError {
    PublishError::new(
        PublishErrorKind::Unavailable,
        format!("no route matches topic {topic}; add one"),
    )
}

#[async_trait]
impl Publisher for Router {
    fn destination<'a>(&'a self, topic: &'a Topic) -> Cow<'a, str> {
        match self.of(topic) {
            Some(publisher) => publisher.destination(topic),
            None => no_route(topic).into(),
        }
    }

    /// Even one route leaves other topics without any.
    fn has_one_destination(&self) -> bool {
        match &*self.routes {
            [only] => only.pattern == TopicPattern::any() && only.publisher.has_one_destination(),
            _ => false,
        }
    }

    fn longest_call(&self) -> Duration {
        let calls = self.routes.iter();
        calls
            .map(|route| route.publisher.longest_call())
            .max()
            .unwrap_or_default()
    }

    fn longest_run(&self) -> usize {
        let runs = self.routes.iter();
        runs.map(|route| route.publisher.longest_run())
            .min()
            .unwrap_or(usize::MAX)
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        let topic = &run.messages[0].message.topic;
        match self.of(topic) {
            Some(publisher) => publisher.publish(run).await,
            None => Published::failed(0, missing(topic)),
        }
    }

    /// Reaches the publisher of each route, and tells of the first that cannot be reached.
    async fn reach(&self) -> Result<(), PublishError> {
        for route in &self.routes {
            route.publisher.reach().await?;
        }
        Ok(())
    }

    async fn check(&self, topic: &Topic) -> Result<(), PublishError> {
        match self.of(topic) {
            Some(publisher) => publisher.check(topic).await,
            None => Err(missing(topic)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Named(&'static str);

    #[async_trait]
    impl Publisher for Named {
        fn destination<'a>(&'a self, _: &'a Topic) -> Cow<'a, str> {
            self.0.into()
        }

        async fn publish(&self, run: Run<'_>) -> Published {
            Published::all(run)
        }
    }

    fn router(routes: &[(&str, &'static str)]) -> Router {
        let add = |router: Router, (pattern, name): &(&str, &'static str)| {
            router.route(pattern.parse().unwrap(), Arc::new(Named(name)))
        };
        routes.iter().fold(Router::new(), add)
    }

    fn topic(text: &str) -> Topic {
        Topic::new(text).unwrap()
    }

    #[test]
    fn the_first_route_that_matches_wins() {
        let router = router(&[("orders.*", "a"), ("orders.created", "b"), ("*s", "c")]);
        assert_eq!(router.destination(&topic("orders.created")), "a");
        assert_eq!(router.destination(&topic("payments")), "c");
        assert_eq!(router.destination(&topic("x")), "no route for topic x");
        let topics = [topic("x"), topic("payments"), topic("y")];
        assert_eq!(router.unmatched(&topics), [&topics[0], &topics[2]]);
    }

    #[test]
    fn only_a_route_for_every_topic_makes_one_destination() {
        assert!(router(&[("*", "a")]).has_one_destination());
        assert!(!router(&[("a*", "a")]).has_one_destination());
        assert!(!router(&[("a*", "a"), ("*", "b")]).has_one_destination());
        assert!(!router(&[]).has_one_destination());
    }
}
