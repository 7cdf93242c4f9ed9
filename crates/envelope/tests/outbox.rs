//! What the reference's outbox publishes, and how long its relay waits. The vectors were generated as those of `reference.rs`. What
//! they say of its relay's rounds is not the way of this toolkit: it passes by a message that fails, where the reference stops.

use std::time::Duration;

use outbox_backoff::{Backoff, Sample};
use outbox_envelope::Envelope;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Run {
    name: String,
    envelopes: Vec<Box<RawValue>>,
    fail_indexes: Vec<usize>,
    options: Options,
    published: Vec<(String, String)>,
    sleeps: Vec<f64>,
}

#[derive(Deserialize)]
struct Options {
    backoff_step: Option<f64>,
    backoff_cap: Option<f64>,
}

impl Options {
    fn backoff(&self) -> Backoff {
        let seconds = |given: Option<f64>, usual| given.map_or(usual, Duration::from_secs_f64);
        let step = seconds(self.backoff_step, Backoff::LINEAR_STEP);
        Backoff::linear(step, seconds(self.backoff_cap, Backoff::LINEAR_CAP))
            .expect("the step is below the cap")
    }
}

#[test]
fn every_envelope_is_saved_for_the_queue_and_with_the_bytes_of_the_reference() {
    let runs: Vec<Run> = serde_json::from_str(include_str!("vectors/outbox.json"))
        .expect("the vectors have the shape of the struct");
    assert_eq!(runs.len(), 8, "no entry may get lost");
    for run in &runs {
        let name = &run.name;
        let messages = run.envelopes.iter().enumerate();
        let messages = messages.filter(|(place, _)| !run.fail_indexes.contains(place));
        let messages = messages.map(|(_, frame)| {
            let message = Envelope::from_frame(frame).unwrap().to_message().unwrap();
            let payload = String::from_utf8(message.payload.to_vec()).unwrap();
            (message.topic.as_str().to_owned(), payload)
        });
        let messages: Vec<_> = messages.collect();
        if name == "head-of-line-failed-batch-blocks-drain" {
            // The reference's relay stops at the message that fails. Those behind it are as good as any.
            assert_eq!((messages.len(), run.published.len()), (2, 0), "{name}");
        } else {
            assert_eq!(messages, run.published, "{name}");
        }

        let backoff = run.options.backoff();
        for (attempts, sleep) in (0..).zip(&run.sleeps) {
            let delay = backoff.delay(attempts, Sample::HALF);
            assert_eq!(delay, Duration::from_secs_f64(*sleep), "{name}");
        }
        if run.sleeps.is_empty() && !run.fail_indexes.is_empty() {
            assert_eq!(backoff.delay(0, Sample::HALF), Duration::ZERO, "{name}");
        }
    }
}
