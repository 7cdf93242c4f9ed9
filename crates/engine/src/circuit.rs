//! One circuit a destination (contract F3): open from a transient failure until a message is confirmed, with one probe a delay.
//! Also what is learned of a destination meanwhile: when it last confirmed, and how long a run it can take in time.

use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;

/// The circuits of all destinations that this relay has met.
#[derive(Debug)]
pub(crate) struct Circuits {
    destinations: BTreeMap<String, Destination>,
    longest_run: usize,
    publish_timeout: Duration,
    /// There is no other destination than the one that was met.
    only_one: bool,
}

#[derive(Debug)]
struct Destination {
    /// When the next probe may go; `None` while the circuit is closed.
    next_probe: Option<Instant>,
    last_confirmed: Option<Instant>,
    /// The slowest a message was confirmed lately, and when.
    slowest: Option<(Duration, Instant)>,
    /// The reason of its failures that was told last, and when.
    told: Option<(String, Instant)>,
}

/// What a failure of a destination is besides a failure: something to tell people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum News {
    /// It opened the circuit.
    Opened,
    /// It was open, and the reason is another now.
    Reason,
}

/// A destination's first run is short, until one shows how fast it confirms.
const FIRST_RUN: usize = 16;

/// Another reason of an outage is told after this long: one with a number of its own in it is another at each probe.
const TOLD_EVERY: Duration = Duration::from_mins(1);

impl Circuits {
    pub(crate) fn new(longest_run: usize, publish_timeout: Duration, only_one: bool) -> Self {
        Self {
            destinations: BTreeMap::new(),
            longest_run,
            publish_timeout,
            only_one,
        }
    }

    fn of(&mut self, destination: &str) -> &mut Destination {
        // Looked up first, so that the name is copied once in a relay's life.
        if !self.destinations.contains_key(destination) {
            let met = Destination {
                next_probe: None,
                last_confirmed: None,
                slowest: None,
                told: None,
            };
            self.destinations.insert(destination.to_owned(), met);
        }
        self.destinations
            .get_mut(destination)
            .expect("it was inserted above")
    }

    /// How many messages a run to this destination may have, so that it ends well within the publish timeout.
    pub(crate) fn run_limit(&mut self, destination: &str) -> usize {
        let (longest, budget) = (self.longest_run, self.publish_timeout / 4);
        let Some((slowest, _)) = self.of(destination).slowest else {
            return FIRST_RUN.min(longest);
        };
        let fitting = budget.as_nanos().checked_div(slowest.as_nanos());
        let fitting = fitting.and_then(|fitting| usize::try_from(fitting).ok());
        fitting.unwrap_or(usize::MAX).clamp(1, longest)
    }

    /// Whether there is no other destination.
    pub(crate) fn only_one(&self) -> bool {
        self.only_one
    }

    /// Whether any destination is down.
    pub(crate) fn any_open(&self) -> bool {
        let mut destinations = self.destinations.values();
        destinations.any(|destination| destination.next_probe.is_some())
    }

    /// When the next probe may go, if the only destination is down: then nothing but a probe is claimed.
    pub(crate) fn all_open(&self) -> Option<Instant> {
        if !self.only_one {
            return None;
        }
        self.destinations.values().find_map(|it| it.next_probe)
    }

    /// When the next probe to this destination may go, if its circuit is open.
    pub(crate) fn next_probe(&self, destination: &str) -> Option<Instant> {
        self.destinations.get(destination)?.next_probe
    }

    /// Whether the destination confirmed a message after `moment` (contract F1).
    pub(crate) fn confirmed_since(&self, destination: &str, moment: Instant) -> bool {
        self.destinations
            .get(destination)
            .and_then(|it| it.last_confirmed)
            .is_some_and(|at| at > moment)
    }

    /// Takes in that `count` messages were confirmed in `took`. Whether that closed the circuit.
    pub(crate) fn confirmed(&mut self, destination: &str, count: usize, took: Duration) -> bool {
        self.paced(destination, took, count);
        let it = self.of(destination);
        it.last_confirmed = Some(Instant::now());
        it.next_probe.take().is_some()
    }

    /// Takes in that a run of this many messages did not end within the publish timeout. Of a run of one that says
    /// something about the message, not about the pace.
    pub(crate) fn timed_out(&mut self, destination: &str, run: usize) {
        if run > 1 {
            self.paced(destination, self.publish_timeout, run);
        }
    }

    /// Takes in how long so many messages took. The slowest counts for as long as a publish call may take, so that fast
    /// messages do not make the runs of a slow key too long.
    fn paced(&mut self, destination: &str, took: Duration, count: usize) {
        let window = self.publish_timeout;
        let each = took / u32::try_from(count.max(1)).unwrap_or(u32::MAX);
        let it = self.of(destination);
        let kept = it
            .slowest
            .filter(|(slowest, at)| *slowest > each && at.elapsed() < window);
        it.slowest = kept.or(Some((each, Instant::now())));
    }

    /// Takes in that a probe ended without a confirmation and without saying more of the destination.
    pub(crate) fn postpone(&mut self, destination: &str, next_probe: Instant) {
        let it = self.of(destination);
        it.next_probe = it.next_probe.map(|at| at.max(next_probe));
    }

    /// The destinations whose circuit is open, forgotten with everything else.
    pub(crate) fn withdraw(&mut self) -> Vec<String> {
        let destinations = std::mem::take(&mut self.destinations).into_iter();
        let open = destinations.filter(|(_, it)| it.next_probe.is_some());
        open.map(|(name, _)| name).collect()
    }

    /// Takes in a transient failure, its reason, and when to probe. Says what is to be told of it, if that was not told already.
    pub(crate) fn failed(
        &mut self,
        destination: &str,
        next_probe: Instant,
        reason: &str,
    ) -> Option<News> {
        let it = self.of(destination);
        let opened = it.next_probe.replace(next_probe).is_none();
        let news = match &it.told {
            Some((told, at)) if !opened => {
                let is_news = told != reason && at.elapsed() >= TOLD_EVERY;
                is_news.then_some(News::Reason)
            }
            _ => Some(News::Opened),
        };
        if news.is_some() {
            it.told = Some((reason.to_owned(), Instant::now()));
        }
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circuits() -> Circuits {
        Circuits::new(100, Duration::from_secs(10), true)
    }

    #[test]
    fn f3_a_circuit_opens_once_and_closes_only_by_a_confirmation() {
        let (mut circuits, now) = (circuits(), Instant::now());
        assert_eq!(circuits.next_probe("a"), None);
        assert_eq!(circuits.failed("a", now, "refused"), Some(News::Opened));
        let later = now + Duration::from_secs(1);
        assert_eq!(circuits.failed("a", later, "refused"), None);
        assert_eq!(circuits.next_probe("a"), Some(now + Duration::from_secs(1)));
        assert!(circuits.confirmed("a", 1, Duration::ZERO));
        assert_eq!(circuits.next_probe("a"), None);
        assert!(!circuits.confirmed("a", 1, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn f3_another_reason_of_an_outage_is_told_once_and_not_at_each_probe() {
        let mut circuits = circuits();
        let mut told = Vec::new();
        for second in 0..600 {
            let reason = match second {
                90..300 => "no such stream".to_owned(),
                300..400 => format!("request {second}"),
                _ => "refused".to_owned(),
            };
            if let Some(news) = circuits.failed("a", Instant::now(), &reason) {
                told.push((second, news));
            }
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        let others = [90, 300, 360, 420].map(|second| (second, News::Reason));
        assert_eq!(told[0], (0, News::Opened));
        assert_eq!(told[1..], others);
        circuits.confirmed("a", 1, Duration::ZERO);
        let again = circuits.failed("a", Instant::now(), "refused");
        assert_eq!(again, Some(News::Opened));
    }

    #[test]
    fn f3_only_when_the_only_destination_is_down_nothing_but_probes_is_claimed() {
        let (mut circuits, now) = (circuits(), Instant::now());
        assert_eq!(circuits.all_open(), None);
        circuits.failed("a", now, "refused");
        assert_eq!(circuits.all_open(), Some(now));
        circuits.confirmed("a", 1, Duration::ZERO);
        assert_eq!(circuits.all_open(), None);
        let mut several = Circuits::new(100, Duration::from_secs(10), false);
        several.failed("a", now, "refused");
        assert_eq!(several.all_open(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn runs_are_as_long_as_a_quarter_of_the_publish_timeout_allows_at_the_slowest_pace() {
        let mut circuits = circuits();
        assert_eq!(circuits.run_limit("a"), FIRST_RUN);
        circuits.confirmed("a", 10, Duration::from_secs(1));
        assert_eq!(circuits.run_limit("a"), 25);
        circuits.confirmed("a", 10, Duration::ZERO);
        assert_eq!(circuits.run_limit("a"), 25, "a slow key may be next");
        tokio::time::advance(Duration::from_secs(10)).await;
        circuits.confirmed("a", 10, Duration::ZERO);
        assert_eq!(circuits.run_limit("a"), 100);
        circuits.timed_out("a", 1);
        assert_eq!(
            circuits.run_limit("a"),
            100,
            "one message says nothing of the pace"
        );
        circuits.timed_out("a", 100);
        assert_eq!(circuits.run_limit("a"), 25);
    }
}
