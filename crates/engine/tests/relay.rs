//! The relay on the reference store with a scripted broker, on tokio's paused clock: no test waits for real time.

#[path = "relay/ahead.rs"]
mod ahead;
#[path = "relay/circuits.rs"]
mod circuits;
#[path = "relay/crashes.rs"]
mod crashes;
#[path = "relay/failures.rs"]
mod failures;
#[path = "relay/late_answers.rs"]
mod late_answers;
#[path = "relay/notices.rs"]
mod notices;
#[path = "relay/order.rs"]
mod order;
#[path = "relay/random.rs"]
mod random;
#[path = "relay/reading_on.rs"]
mod reading_on;
#[path = "relay/silence.rs"]
mod silence;
#[path = "relay/stopping.rs"]
mod stopping;
#[path = "relay/stops.rs"]
mod stops;
#[path = "relay/stops_of_several.rs"]
mod stops_of_several;
#[path = "relay/store_errors.rs"]
mod store_errors;
#[path = "relay/world.rs"]
mod world;
